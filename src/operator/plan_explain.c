/* plan_explain.c  a plan as recursions, as the papers print them. */
#include "plan.h"
#include <stdio.h>

static const char *input_name(const soa_expr *leaf) {
    if (!leaf) return "x";
    return soai_leaf_name(leaf);
}
static void value_name(const builder *b, int i, char name[32]) {
    if (i < 0)
        snprintf(name, 32, "0");
    else if (b->v[i].code == OP_INPUT)
        snprintf(name, 32, "%.31s", input_name(b->v[i].leaf));
    else
        snprintf(name, 32, "%s%d",
                 (const char *const[]){"", "e", "z", "y", "t", "c", "r", "o", "s"}[b->v[i].space],
                 i);
}
/* The operator that an operation applies, as in expressions. */
static const char *const factors[] = {[OP_PHI] = "phi",
                                      [OP_PSI] = "psi",
                                      [OP_PHI_T] = "phi'",
                                      [OP_PSI_T] = "psi'",
                                      [OP_SHIFT] = "S",
                                      [OP_SHIFT_T] = "S'",
                                      [OP_X] = "Delta_phi",
                                      [OP_X_T] = "Delta_phi'",
                                      [OP_H] = "H",
                                      [OP_H_T] = "H'",
                                      [OP_G] = "G",
                                      [OP_G_T] = "G'",
                                      [OP_P] = "P",
                                      [OP_M] = "M",
                                      [OP_MC] = "Mc",
                                      [OP_D] = "D",
                                      [OP_DINV] = "inv(D)",
                                      [OP_JR] = "Jr",
                                      [OP_B] = "B",
                                      [OP_B_T] = "B'",
                                      [OP_E] = "E",
                                      [OP_E_T] = "E'",
                                      [OP_BIAS] = "a",
                                      [OP_FORCE] = "b",
                                      [OP_SUM] = "+",
                                      [OP_SOLVE] = "inv",
                                      [OP_MATRIX] = "",
                                      [OP_PSEUDO] = "pinv",
                                      [OP_BC] = "Bc",
                                      [OP_BC_T] = "Bc'",
                                      [OP_AT] = "at",
                                      [OP_INPUT] = "",
                                      [OP_CENTRIPETAL] = "wxv",
                                      [OP_CROSS] = "x",
                                      [OP_CROSS_FORCE] = "x*",
                                      [OP_HT] = "Ht",
                                      [OP_HT_T] = "Ht'",
                                      [OP_LINEAR] = "Lv"};
/* The line of one value: left and right of the equals sign. */
static void say_step(const soa_plan *p, int i, int runs, soa_plan_step *t) {
    const builder *b = p->values;
    const value *v = b->v + i;
    char out[32], x[32], y[32];
    value_name(b, i, out);
    value_name(b, v->a, x);
    value_name(b, v->b, y);
    t->space = (soa_space)v->space;
    t->factor = factors[v->code];
    if (v->code == OP_MATRIX || soai_is_block_op(v->code)) t->factor = input_name(v->leaf);
    if (soai_op_way(v->code) > 0) {
        t->runs = SOA_CAUSAL;
    } else if (soai_op_way(v->code) < 0) {
        t->runs = SOA_ANTICAUSAL;
    } else {
        t->runs = SOA_MEMORYLESS;
    }
    t->recursion = soai_op_is_recursion(v->code);
    snprintf(t->left, sizeof t->left, soai_between_sweeps(v) ? "%s" : "%s(k)", out);
    size_t at = 0;
#define SAY(...)                                                                           \
    at += (size_t)snprintf(t->right + at, at < sizeof t->right ? sizeof t->right - at : 0, \
                           __VA_ARGS__)
    switch (v->code) {
    case OP_PHI: SAY("%s(k) + sum phi(k,c) %s(c)", x, out); break;
    case OP_PSI: SAY("%s(k) + sum psi(k,c) %s(c)", x, out); break;
    case OP_PHI_T: SAY("%s(k) + phi'(p,k) %s(p)", x, out); break;
    case OP_PSI_T: SAY("%s(k) + psi'(p,k) %s(p)", x, out); break;
    case OP_SHIFT: SAY("sum %s(c)", x); break;
    case OP_SHIFT_T: SAY("%s(p)", x); break;
    case OP_X: SAY("phi(p,k) %s(k)", x); break;
    case OP_X_T: SAY("phi'(p,k) %s(k)", x); break;
    case OP_B: SAY("sum phi(k,tip) %s(tip)", x); break;
    case OP_B_T: SAY("phi'(k,tip) %s(k)          for the tips of k", x); break;
    case OP_E: SAY("phi'(0,k) %s               root links only", x); break;
    case OP_E_T: SAY("sum phi(0,k) %s(k)         root links only", x); break;
    case OP_BIAS: SAY("%s(k) x H'(k) thd(k)       and the apparent rate of H'", x); break;
    case OP_FORCE: SAY("%s(k) x* M(k) %s(k) - external wrench", x, x); break;
    case OP_SOLVE:
        SAY("inv(.) %s, a dense solve %s", x, runs ? "after the sweep" : "between sweeps");
        break;
    case OP_MATRIX:
        SAY("%s%s %s, a matrix %s", soai_leaf_name(v->leaf), v->b ? "'" : "", x,
            runs ? "after the sweep" : "between sweeps");
        break;
    case OP_BC: SAY("sum Bc(k,row) %s(row)", x); break;
    case OP_BC_T: SAY("sum Bc'(k,row) %s(k)", x); break;
    case OP_PSEUDO:
        SAY("pinv(.) %s, by singular values %s", x, runs ? "after the sweep" : "between sweeps");
        break;
    case OP_BLOCKS_T:
    case OP_HINGES_T: SAY("%s'(k) %s(k)", t->factor, x); break;
    case OP_AT: SAY("%s(k)          for k = %s, else 0", x, v->leaf->name); break;
    case OP_CENTRIPETAL: SAY("[0; omega x v] of %s(k)", x); break;
    case OP_CROSS: SAY("%s(k) x %s(k)", y, x); break;
    case OP_CROSS_FORCE: SAY("%s(k) x* %s(k)", x, y); break;
    case OP_SUM: {
        const char *k = soai_between_sweeps(v) ? "" : "(k)";
        if (v->x == 1)
            SAY("%s%s", x, k);
        else if (v->x == -1)
            SAY("-%s%s", x, k);
        else
            SAY("%g %s%s", v->x, x, k);
        if (v->b >= 0 && (v->y == 1 || v->y == -1))
            SAY(" %s %s%s", v->y < 0 ? "-" : "+", y, k);
        else if (v->b >= 0)
            SAY(" + %g %s%s", v->y, y, k);
        break;
    }
    default: SAY("%s(k) %s(k)", t->factor, x);
    }
#undef SAY
}
/* The recursions of P and Mc.  sweep: -2, -1 before the first sweep; else the one they are part
 * of. */
static const soa_plan_step inertias[] = {
    {-2, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "P", "P(k)",
     "M(k) + sum phi(k,c) P+(c) phi'(k,c)      P at a tip: M"},
    {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_JOINT, 0, "D", "D(k)", "H(k) P(k) H'(k)"},
    {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "G", "G(k)", "P(k) H'(k) inv(D(k))"},
    {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "P", "P+(k)", "P(k) - G(k) H(k) P(k)"},
    {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "psi", "psi(p,k)",
     "phi(p,k) (I - G(k) H(k))"},
    {-1, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "Mc", "Mc(k)",
     "M(k) + sum phi(k,c) Mc(c) phi'(k,c)      Mc at a tip: M"}};
/* The sweep that the recursion of P or Mc is part of, an inward one: that of the first value that
 * needs it, or the one before.  `before` if other recursions need it earlier. */
static int sweep_of_recursion(const soa_plan *p, int composite, int before) {
    int level = p->passes;
    int sweep = p->sweeps;
    if (p->block_count) return before;
    for (int i = 0; i < p->values->count; ++i) {
        const value *v = p->values->v + i;
        if (composite ? v->code != OP_MC : !soai_op_uses_P(v->code)) continue;
        if (v->level > level || (v->level == level && v->sweep >= sweep)) continue;
        level = v->level;
        sweep = v->sweep;
    }
    if (soai_is_inward(level, p->first)) return sweep;
    return level ? p->first_sweep[level] - 1 : before;
}
static void visit_recursions(const soa_plan *p, int now, soa_plan_step_fn *fn, void *user) {
    for (size_t i = 0; i < sizeof inertias / sizeof *inertias; ++i) {
        const int composite = inertias[i].sweep == -1;
        soa_plan_step t = inertias[i];
        if (!(composite ? p->composes : p->articulates)) continue;
        t.sweep = sweep_of_recursion(p, composite, t.sweep);
        if (t.sweep == now || (t.sweep < 0 && now < 0)) fn(user, &t);
    }
}
/* Recursions that come before the first sweep. */
static void visit_blocks(const soa_plan *p, soa_plan_step_fn *fn, void *user) {
    static const soa_plan_step costate = {
        -3,
        SOA_ANTICAUSAL,
        SOA_ANTICAUSAL,
        SOA_SPACE_LINK,
        1,
        "Delta",
        "Delta(k)",
        "psi'(p,k) Delta(p) psi(p,k) + H'(k) inv(D(k)) H(k)      at the base: 0"};
    static const soa_plan_step root = {
        -3, SOA_MEMORYLESS, SOA_MEMORYLESS, SOA_SPACE_JOINT,
        0,  "sqrt(D)",      "sqrt(D)(k)",   "lower triangle of D(k) = sqrt(D)(k) sqrt(D)'(k)"};
    static const soa_plan_step changes[] = {
        {-2, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "dP", "dP(k)",
         "sum phi(k,c) (Theta P+ + P+ Theta' + dP+)(c) phi'(k,c)      dP at a tip: 0"},
        {-2, SOA_CAUSAL, SOA_MEMORYLESS, SOA_SPACE_LINK, 0, "dP", "dP+(k)",
         "(I - G H) dP (I - G H)' - G dH P+ - P+ dH' G'"},
        {-1, SOA_CAUSAL, SOA_CAUSAL, SOA_SPACE_LINK, 1, "dMc", "dMc(k)",
         "sum phi(k,c) (Theta Mc + Mc Theta' + dMc)(c) phi'(k,c)      dMc at a tip: 0"}};
    visit_recursions(p, -1, fn, user);
    for (int i = 0; i < 3; ++i)
        if (soai_plan_computes(p, i < 2 ? LEAF_DART : LEAF_DCOMPOSITE)) fn(user, changes + i);
    if (soai_plan_computes(p, LEAF_COSTATE)) fn(user, &costate);
    if (soai_plan_computes(p, LEAF_ROOT) || soai_plan_computes(p, LEAF_ROOTINV)) fn(user, &root);
}
static void visit_values(const soa_plan *p, int level, int sweep, soa_plan_step_fn *fn,
                         void *user) {
    int runs = 0;
    for (int i = 0; i < p->values->count; ++i)
        runs |=
            level >= 0 && p->values->v[i].level == level && !soai_between_sweeps(p->values->v + i);
    for (int i = 0; i < p->values->count; ++i) {
        const value *v = p->values->v + i;
        if (v->level != level || v->code == OP_INPUT || (level >= 0 && v->sweep != sweep)) continue;
        soa_plan_step t = {.sweep = sweep,
                           .way = soai_is_inward(level, p->first) ? SOA_CAUSAL : SOA_ANTICAUSAL};
        if (soai_between_sweeps(v)) t.way = SOA_MEMORYLESS;
        say_step(p, i, runs, &t);
        fn(user, &t);
    }
}
void soa_plan_visit_steps(const soa_plan *p, soa_plan_step_fn *fn, void *user) {
    if (!p || !fn) return;
    visit_blocks(p, fn, user);
    visit_values(p, -1, 0, fn, user);
    for (int level = 0; level < p->passes; ++level)
        for (int sweep = p->first_sweep[level]; sweep < p->first_sweep[level + 1]; ++sweep) {
            visit_recursions(p, sweep, fn, user);
            visit_values(p, level, sweep, fn, user);
        }
}
typedef struct explaining {
    char *text;
    size_t at, room;
    int sweep;
} explaining;
#define SAY(...)                                                        \
    w->at += (size_t)snprintf(w->at < w->room ? w->text + w->at : NULL, \
                              w->at < w->room ? w->room - w->at : 0, __VA_ARGS__)
static void explain_step(void *user, const soa_plan_step *t) {
    explaining *w = user;
    if (t->sweep != w->sweep && t->way != SOA_MEMORYLESS) {
        SAY("\nfor k = %s\n",
            t->way == SOA_CAUSAL ? "n ... 1   (tips to base)" : "1 ... n   (base to tips)");
        w->sweep = t->sweep;
    }
    SAY("    %-8s = %s\n", t->left, t->right);
}
/* The passes over the bodies, where they are fewer than the sweeps. */
static void explain_passes(const soa_plan *p, explaining *w) {
    if (p->passes == p->sweeps) return;
    SAY("%d passes over the bodies:", p->passes);
    for (int pass = 0; pass < p->passes; ++pass) {
        const int first = p->first_sweep[pass];
        const int last = p->first_sweep[pass + 1] - 1;
        SAY("%s sweep%s %d", pass ? "," : "", first == last ? "" : "s", first);
        if (last > first) SAY(" to %d", last);
    }
    SAY("\n");
}
size_t soa_plan_explain(const soa_plan *p, char *text, size_t room) {
    if (!text) room = 0;
    explaining all = {text, 0, room, 0}, *w = &all;
    if (room) text[0] = 0;
    if (!p) return 0;
    SAY("%d sweep%s, %d recursion%s", p->sweeps, p->sweeps == 1 ? "" : "s", p->recursions,
        p->recursions == 1 ? "" : "s");
    if (p->block_count && (p->articulates || p->composes))
        SAY(", after the recursions of inertias");
    SAY("\n");
    explain_passes(p, w);
    SAY("k a body, p its parent, c its children; phi(p,k) with the rotation; world: all zero\n");
    soa_plan_visit_steps(p, explain_step, w);
    char out[32];
    value_name(p->values, p->last, out);
    SAY("\nresult: %s\n", out);
    return w->at;
}
#undef SAY
