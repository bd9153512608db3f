/* select.c  chooses the steps of a plan: where an expression contains what a hand-written sweep does
 *           at a body, one step does it.
 *
 * Values are compared by their words (polynomial.h), not by how they were written.  With t, u, x any
 * sums of words and K = S Delta_phi G:
 *
 *   RNE      M phi* (a + H* u) + b
 *   GATHER   y = phi x;            e = t - H y, or t + H y
 *   FILTER   z = psi (x + K t);    e = t - H z;        nu = D^-1 e      (or both times -1)
 *   SMOOTH   l = psi* H* nu;       r = nu - K* l
 *   FILTER_BIAS, SMOOTH_BIAS
 *            z = psi (x + b + K t + P a);              nu = D^-1 (t - H (z - P a))
 *            l = psi* (H* nu + (I - G H)* a);          r = nu - K* l - G* a
 *
 * The last pair may use classical accelerations, although a and b are spatial: with
 * a + (I - E_phi*) u in the place of a and b - M u in that of b, r stays the same for every u.
 * All other values are made by one operator each.
 *
 * The steps work on the aligned tables, where the vectors of links are forces or motions.  An
 * expression that takes one for both, such as phi phi*, or contains an operator that has no step
 * here, runs in the user's frames, one operator after the other. */
#include "select.h"
#include <stdlib.h>

enum { INWARD = 1, OUTWARD = -1 };

void soai_selection_free(selection *s) {
    if (!s) return;
    free(s->step);
    free(s);
}

int soai_selection_pass(const selection *s, int v) {
    for (int i = 0; i < s->count; ++i)
        if (s->step[i].code == STEP_SOLVE && s->step[i].out[0] == v) return s->step[i].pass;
    return -1;
}

int soai_selection_has(const selection *s, int code) {
    int has = 0;
    for (int i = 0; i < s->count; ++i)
        has |= s->step[i].code == code;
    return has;
}

/* ---- words ----------------------------------------------------------------------------------- */
static int letter_of(builder *b, int leaf, int turned) {
    const soa_expr *e = soai_leaf_new(leaf, ANY);
    const int at = e ? soai_letter(&b->letters, e, turned, 0) : -1;
    soa_expr_free(e);
    if (at < 0) b->why = "it has too many parts";
    return at < 0 ? 0 : at;
}
/* The letters used below. */
typedef struct known_letters {
    unsigned char phi_t[1], H[1], H_t[1], G_t[1], P[1], Dinv[1], a[1], b[1], B[1], Eg[2];
    unsigned char K[3], K_t[3]; /* S Delta_phi G, G* Delta_phi* S* */
    unsigned char M_phi_t[2];
} known_letters;
static known_letters letters_of(builder *b) {
    known_letters l;
    l.phi_t[0] = (unsigned char)letter_of(b, LEAF_PHI, 1);
    l.H[0] = (unsigned char)letter_of(b, LEAF_HINGE, 0);
    l.H_t[0] = (unsigned char)letter_of(b, LEAF_HINGE, 1);
    l.G_t[0] = (unsigned char)letter_of(b, LEAF_GAIN, 1);
    l.P[0] = (unsigned char)letter_of(b, LEAF_ART, 0);
    l.Dinv[0] = (unsigned char)letter_of(b, LEAF_DINV, 0);
    l.a[0] = (unsigned char)letter_of(b, LEAF_BIASACC, 0);
    l.b[0] = (unsigned char)letter_of(b, LEAF_BIASFORCE, 0);
    l.B[0] = (unsigned char)letter_of(b, LEAF_TIPS, 0);
    l.K[0] = (unsigned char)letter_of(b, LEAF_SHIFT, 0);
    l.K[1] = (unsigned char)letter_of(b, LEAF_XPHI, 0);
    l.K[2] = (unsigned char)letter_of(b, LEAF_GAIN, 0);
    l.K_t[0] = l.G_t[0];
    l.K_t[1] = (unsigned char)letter_of(b, LEAF_XPHI, 1);
    l.K_t[2] = (unsigned char)letter_of(b, LEAF_SHIFT, 1);
    l.M_phi_t[0] = (unsigned char)letter_of(b, LEAF_RIGID, 0);
    l.M_phi_t[1] = l.phi_t[0];
    l.Eg[0] = (unsigned char)letter_of(b, LEAF_INJECT, 0);
    l.Eg[1] = (unsigned char)letter_of(b, LEAF_BASEACC, 0);
    return l;
}
/* Words of a value that the polynomials made; NULL for others. */
static const polynomial *words_of_value(const builder *b, int v) {
    for (int i = 0; v >= 0 && i < b->known_count; ++i)
        if (b->known[i].value == v) return &b->known[i].p;
    return NULL;
}
/* The value whose words are those of p times `sign`, or -1; takes p. */
static int find_and_free(const builder *b, polynomial *p, double sign) {
    int found = -1;
    double scale;
    for (int i = 0; i < b->known_count && found < 0; ++i)
        if (soai_polynomial_multiple(p, &b->known[i].p, &scale) && scale == sign)
            found = b->known[i].value;
    soai_polynomial_free(p);
    return found;
}
/* A value with these words, a new one if need be; -1 for none, -2 without success; takes p. */
static int make_and_free(builder *b, polynomial *p) {
    int v = -2;
    if (!p->broken) v = p->count ? soai_value_of_polynomial(b, p) : -1;
    soai_polynomial_free(p);
    return v;
}
/* t - H z */
static polynomial minus_projected(const known_letters *l, const polynomial *t,
                                  const polynomial *z) {
    polynomial p = soai_polynomial_copy(t);
    soai_polynomial_add_product(&p, -1, l->H, 1, z);
    return p;
}
static polynomial product(const unsigned char *left, int n, const polynomial *q) {
    polynomial p = {0};
    soai_polynomial_add_product(&p, 1, left, n, q);
    return p;
}
/* Is p this one letter, once? */
static int is_letter(const polynomial *p, unsigned char one) {
    return !p->broken && p->count == 1 && p->w[0].factor == 1 && p->w[0].length == 1 &&
           p->w[0].at[0] == one;
}

/* Is it the empty word, once: what is left of a letter taken from it? */
static int is_one(const polynomial *p) {
    return !p->broken && p->count == 1 && p->w[0].factor == 1 && p->w[0].length == 0;
}

/* ---- candidates ------------------------------------------------------------------------------ */
/* What one recursion value can give besides itself: values already there, -1 if not. */
typedef struct filter_parts {
    int z, t, x, e, nu; /* FILTER or GATHER */
    int tips;           /* forces at tips, and their factor */
    double factor;
    double sign; /* FILTER: of e and nu; GATHER: of H y in e */
} filter_parts;
typedef struct smooth_parts {
    int lambda, nu, r;
    int filter; /* of a biased pair: the number of its filter, else -1 */
} smooth_parts;
enum { MOST_PARTS = 64 };
typedef struct chooser {
    builder *b;
    selection *s;
    known_letters l;
    filter_parts filter[MOST_PARTS], gather[MOST_PARTS];
    smooth_parts smooth[MOST_PARTS];
    int filters, gathers, smooths;
    char doing[MOST_VALUES]; /* values whose step is being chosen */
} chooser;

/* e = t - H y or t + H y, for y = phi x: t is what is left of a value with those words. */
static void find_gathered(chooser *c, filter_parts *f, const polynomial *y) {
    builder *b = c->b;
    for (int i = 0; i < 2 * b->known_count && f->e < 0; ++i) {
        const known_value *known = b->known + i / 2;
        const int count = known->p.count;
        const double sign = i % 2 ? 1 : -1;
        if (known->value < 0 || b->v[known->value].space != SOA_SPACE_JOINT) continue;
        polynomial t = soai_polynomial_copy(&known->p);
        soai_polynomial_add_product(&t, -sign, c->l.H, 1, y);
        if (!t.broken && t.count + y->count == count) {
            f->e = known->value;
            f->sign = sign;
            f->t = make_and_free(b, &t);
        }
        soai_polynomial_free(&t);
    }
}
/* The forces at tips in x: taken out of it; *factor of a value, -1 if there are none. */
static int take_tips(chooser *c, polynomial *x, double *factor) {
    polynomial tips = soai_polynomial_after(x, c->l.B, 1, 1);
    *factor = 1;
    if (tips.count == 1) {
        *factor = tips.w[0].factor;
        tips.w[0].factor = 1;
    }
    return make_and_free(c->b, &tips);
}
/* What the recursion z = psi x or phi x can give besides. */
static void find_filter(chooser *c, int z) {
    builder *b = c->b;
    const int psi = b->v[z].code == OP_PSI;
    const polynomial *words = words_of_value(b, z);
    const polynomial *argument = words_of_value(b, b->v[z].a);
    filter_parts f = {.z = z, .t = -1, .e = -1, .nu = -1, .sign = 1};
    if (!words || !argument) return;
    polynomial zp = soai_polynomial_copy(words);
    polynomial x = soai_polynomial_copy(argument);
    if (psi) {
        polynomial t = soai_polynomial_after(&x, c->l.K, 3, 1);
        for (int i = 0; i < 2 && f.e < 0 && f.nu < 0; ++i) {
            polynomial e = minus_projected(&c->l, &t, &zp);
            polynomial nu = product(c->l.Dinv, 1, &e);
            f.sign = i ? -1 : 1;
            f.e = find_and_free(b, &e, f.sign);
            f.nu = find_and_free(b, &nu, f.sign);
        }
        f.t = make_and_free(b, &t);
    } else {
        find_gathered(c, &f, &zp);
    }
    soai_polynomial_free(&zp);
    f.tips = take_tips(c, &x, &f.factor);
    f.x = make_and_free(b, &x);
    if (f.t == -2 || f.x == -2 || f.tips == -2) return;
    if (psi && c->filters < MOST_PARTS) c->filter[c->filters++] = f;
    if (!psi && c->gathers < MOST_PARTS) c->gather[c->gathers++] = f;
}
/* Is nu = D^-1 (t - H (z - P a)), with z = psi (K t + P a + b ...) of that filter?  D^-1 H P may be
 * written G*. */
static int is_biased_pair(chooser *c, const filter_parts *f, const polynomial *nu) {
    const known_letters *l = &c->l;
    const word a = {.factor = 1, .length = 1, .at = {l->a[0]}};
    const polynomial *words = words_of_value(c->b, f->z);
    const polynomial *argument = words_of_value(c->b, c->b->v[f->z].a);
    if (!words || !argument) return 0;
    polynomial x = soai_polynomial_copy(argument);
    polynomial t = soai_polynomial_after(&x, l->K, 3, 1);
    polynomial bias = soai_polynomial_after(&x, l->P, 1, 1);
    polynomial force = soai_polynomial_after(&x, l->b, 1, 1);
    polynomial one = {0};
    soai_polynomial_add(&one, &a);
    polynomial z = soai_polynomial_copy(words);
    polynomial e = minus_projected(l, &t, &z);
    polynomial with_gain = product(l->Dinv, 1, &e);
    soai_polynomial_add_product(&z, -1, l->P, 1, &one);
    polynomial without = minus_projected(l, &t, &z);
    polynomial with_inertia = product(l->Dinv, 1, &without);
    soai_polynomial_add_product(&with_gain, 1, l->G_t, 1, &one);
    double scale[2] = {0, 0};
    const int same[2] = {soai_polynomial_multiple(&with_gain, nu, scale),
                         soai_polynomial_multiple(&with_inertia, nu, scale + 1)};
    const int fits = is_letter(&bias, l->a[0]) && is_one(&force) &&
                     ((same[0] && scale[0] == 1) || (same[1] && scale[1] == 1));
    polynomial *all[] = {&x, &t, &bias, &force, &one, &z, &e, &with_gain, &without, &with_inertia};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        soai_polynomial_free(all[i]);
    return fits;
}
/* What the recursion lambda = psi* x can give besides. */
static void find_smooth(chooser *c, int lambda) {
    builder *b = c->b;
    const known_letters *l = &c->l;
    const polynomial *words = words_of_value(b, lambda);
    const polynomial *argument = words_of_value(b, b->v[lambda].a);
    if (!words || !argument || c->smooths == MOST_PARTS) return;
    polynomial lp = soai_polynomial_copy(words);
    polynomial rest = soai_polynomial_copy(argument);
    polynomial nu = soai_polynomial_after(&rest, l->H_t, 1, 1);
    const int biased = is_letter(&rest, l->a[0]);
    smooth_parts m = {.lambda = lambda, .filter = -1, .nu = -1};
    if (biased) soai_polynomial_add_product(&nu, 1, l->G_t, 1, &rest); /* it held - G* a */
    polynomial r = soai_polynomial_copy(&nu);
    soai_polynomial_add_product(&r, -1, l->K_t, 3, &lp);
    if (biased) soai_polynomial_add_product(&r, -1, l->G_t, 1, &rest);
    m.r = find_and_free(b, &r, 1);
    for (int i = 0; biased && i < c->filters && m.filter < 0; ++i)
        if (is_biased_pair(c, c->filter + i, &nu)) m.filter = i;
    int fits = biased && m.filter >= 0;
    if (!biased && !rest.count) {
        m.nu = make_and_free(b, &nu);
        fits = m.nu >= 0;
    }
    soai_polynomial_free(&lp);
    soai_polynomial_free(&rest);
    soai_polynomial_free(&nu);
    if (fits) c->smooth[c->smooths++] = m;
}

/* ---- steps ----------------------------------------------------------------------------------- */
static int choose(chooser *c, int v);
static int choose_if(chooser *c, int v) {
    return v < 0 || choose(c, v);
}

static const chosen_step no_step = {.in = {-1, -1, -1}, .out = {-1, -1, -1}, .after = -1};

/* Its number, or -1 without memory. */
static int add_step(chooser *c, const chosen_step *made) {
    selection *s = c->s;
    if (s->count == s->room) {
        const int room = 2 * s->room + 16;
        chosen_step *more = soai_resized(s->step, (size_t)room * sizeof *more);
        if (!more) return -1;
        s->step = more;
        s->room = room;
    }
    s->step[s->count] = *made;
    for (int i = 0; i < 3; ++i)
        if (made->out[i] >= 0) s->maker[made->out[i]] = s->count;
    return s->count++;
}
/* GATHER or FILTER */
static int choose_filter(chooser *c, const filter_parts *f, int code) {
    chosen_step filter = no_step;
    if (!choose_if(c, f->t) || !choose_if(c, f->x) || !choose_if(c, f->tips)) return 0;
    filter.code = code;
    filter.in[2] = f->tips;
    filter.tips = f->factor;
    filter.in[0] = f->x;
    filter.in[1] = f->t;
    filter.out[0] = f->z;
    filter.out[1] = f->e;
    filter.out[2] = f->nu;
    filter.sign = f->sign;
    filter.way = INWARD;
    filter.gain = code == STEP_FILTER;
    return add_step(c, &filter) >= 0;
}
static int choose_smooth(chooser *c, const smooth_parts *m) {
    chosen_step smooth = no_step;
    if (!choose(c, m->nu)) return 0;
    smooth.code = STEP_SMOOTH;
    smooth.in[0] = m->nu;
    smooth.out[0] = m->lambda;
    smooth.out[1] = m->r;
    smooth.way = OUTWARD;
    smooth.gain = 1;
    return add_step(c, &smooth) >= 0;
}
/* A place that only steps of a pair use. */
static int place(builder *b, int space, int number) {
    return soai_value_of(b,
                         (value){.code = OP_PLACE, .space = space, .a = -1, .b = -1, .x = number});
}
/* Filter and smoother with the bias accelerations inside them.  r leaves the pair, and lambda, made
 * spatial again. */
static int choose_pair(chooser *c, const smooth_parts *m, int spatial) {
    builder *b = c->b;
    const filter_parts *f = c->filter + m->filter;
    polynomial x = soai_polynomial_copy(words_of_value(b, b->v[f->z].a));
    polynomial out[3] = {soai_polynomial_after(&x, c->l.K, 3, 1),
                         soai_polynomial_after(&x, c->l.P, 1, 1),
                         soai_polynomial_after(&x, c->l.b, 1, 1)};
    for (int i = 0; i < 3; ++i)
        soai_polynomial_free(out + i);
    double factor;
    const int tips = take_tips(c, &x, &factor);
    const int xv = make_and_free(b, &x);
    const int z = place(b, SOA_SPACE_LINK, 3 * m->filter);
    const int lambda = place(b, SOA_SPACE_LINK, 3 * m->filter + 1);
    const int nu = place(b, SOA_SPACE_JOINT, 3 * m->filter + 2);
    if (xv == -2 || tips == -2 || z < 0 || lambda < 0 || nu < 0) return 0;
    if (!choose_if(c, f->t) || !choose_if(c, xv) || !choose_if(c, tips)) return 0;
    chosen_step turn = no_step;
    turn.code = STEP_SPIN;
    turn.way = OUTWARD;
    chosen_step filter = no_step;
    filter.code = STEP_FILTER_BIAS;
    filter.in[0] = xv;
    filter.in[1] = f->t;
    filter.in[2] = tips;
    filter.tips = factor;
    filter.out[0] = z;
    filter.out[2] = nu;
    filter.way = INWARD;
    filter.gain = 1;
    filter.after = add_step(c, &turn);
    chosen_step smooth = no_step;
    smooth.code = STEP_SMOOTH_BIAS;
    smooth.in[0] = nu;
    smooth.out[0] = lambda;
    smooth.out[1] = m->r;
    smooth.way = OUTWARD;
    smooth.gain = 1;
    smooth.base = 1;
    if (filter.after < 0 || add_step(c, &filter) < 0 || add_step(c, &smooth) < 0) return 0;
    if (!spatial) return 1;
    chosen_step back = no_step;
    back.code = STEP_SPATIAL;
    back.in[0] = lambda;
    back.in[1] = soai_value_of_velocity(b);
    back.out[0] = m->lambda;
    back.way = OUTWARD;
    return choose(c, back.in[1]) && add_step(c, &back) >= 0;
}
/* M phi* (a + H* u) + b and the rest of the sum: 1 chosen, 0 it is no such sum, -1 in vain. */
static int choose_rne(chooser *c, int v) {
    builder *b = c->b;
    const known_letters *l = &c->l;
    const polynomial *words = words_of_value(b, v);
    if (!words || b->v[v].space != SOA_SPACE_LINK) return 0;
    polynomial f = soai_polynomial_copy(words);
    polynomial rest = soai_polynomial_copy(words);
    polynomial motion = soai_polynomial_after(&rest, l->M_phi_t, 2, 1);
    polynomial force = soai_polynomial_after(&rest, l->b, 1, 1);
    polynomial u = soai_polynomial_after(&motion, l->H_t, 1, 1);
    int fits = is_letter(&motion, l->a[0]) && is_one(&force) && !u.broken && !rest.broken;
    const int whole = !rest.count;
    soai_polynomial_add_product(&f, -1, NULL, 0, &rest);
    chosen_step rne = no_step;
    int rv = -1;
    if (fits) {
        rne.code = STEP_RNE;
        rne.way = OUTWARD;
        rne.in[1] = make_and_free(b, &u);
        rne.out[0] = whole ? v : soai_value_of_polynomial(b, &f);
        rv = make_and_free(b, &rest);
    }
    polynomial *all[] = {&f, &rest, &motion, &force, &u};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        soai_polynomial_free(all[i]);
    if (!fits) return 0;
    if (rne.in[1] == -2 || rne.out[0] < 0 || rv == -2) return -1;
    if (c->s->maker[rne.out[0]] < 0 && (!choose_if(c, rne.in[1]) || add_step(c, &rne) < 0))
        return -1;
    if (whole) return 1;
    chosen_step sum = no_step;
    sum.code = STEP_SUM_LINK;
    sum.in[0] = rne.out[0];
    sum.in[1] = rv;
    sum.out[0] = v;
    return choose(c, rv) && add_step(c, &sum) >= 0 ? 1 : -1;
}
/* phi* (H* u + x) in one step.  Of the vector a, x holds the bias of the joints; gravity, E g, is
 * the base's row. */
static int choose_motion(chooser *c, int v) {
    builder *b = c->b;
    const int argument = b->v[v].a;
    const polynomial *words = words_of_value(b, argument);
    chosen_step motion = no_step;
    motion.code = STEP_MOTION;
    motion.way = OUTWARD;
    motion.out[0] = v;
    if (words) {
        polynomial rest = soai_polynomial_copy(words);
        polynomial u = soai_polynomial_after(&rest, c->l.H_t, 1, 1);
        polynomial bias = soai_polynomial_after(&rest, c->l.a, 1, 1);
        polynomial base = soai_polynomial_after(&rest, c->l.Eg, 2, 1);
        const double factor = bias.count ? bias.w[0].factor : 0;
        motion.base = factor + (base.count ? base.w[0].factor : 0);
        motion.in[0] = make_and_free(b, &u);
        motion.in[1] = make_and_free(b, &rest);
        soai_polynomial_free(&bias);
        soai_polynomial_free(&base);
        if (factor != 0) {
            const int joints = soai_value_of_bias(b);
            const int more = motion.in[1];
            motion.in[1] = joints;
            if (more >= 0 || factor != 1)
                motion.in[1] = soai_value_of(b, (value){.code = OP_SUM,
                                                        .space = SOA_SPACE_LINK,
                                                        .a = joints,
                                                        .b = more,
                                                        .x = factor,
                                                        .y = 1});
            if (more == -2 || joints < 0) motion.in[1] = -2;
        }
        if (motion.in[0] == -2 || motion.in[1] == -2) return 0;
    } else if (b->v[argument].code == OP_H_T) { /* the velocities inside a and b */
        motion.in[0] = b->v[argument].a;
    } else {
        motion.in[1] = argument;
    }
    return choose_if(c, motion.in[0]) && choose_if(c, motion.in[1]) && add_step(c, &motion) >= 0;
}
static int is_of_links(const builder *b, int v) {
    return v >= 0 && (b->v[v].space == SOA_SPACE_LINK || b->v[v].space == SOA_SPACE_EDGE);
}
/* One operator, one step. */
static int choose_operator(chooser *c, int v) {
    static const struct {
        int op, step, way, gain;
    } table[] = {{OP_SHIFT, STEP_S, INWARD, 0}, {OP_SHIFT_T, STEP_S_T, OUTWARD, 0},
                 {OP_X, STEP_X, 0, 0},          {OP_X_T, STEP_X_T, 0, 0},
                 {OP_H, STEP_H, 0, 0},          {OP_H_T, STEP_H_T, 0, 0},
                 {OP_G, STEP_G, 0, 1},          {OP_G_T, STEP_G_T, 0, 1},
                 {OP_P, STEP_P, 0, 1},          {OP_M, STEP_INERTIA, 0, 0},
                 {OP_D, STEP_D, 0, 1},          {OP_DINV, STEP_DINV, 0, 1},
                 {OP_JR, STEP_JR, 0, 0},        {OP_B, STEP_B, 0, 0},
                 {OP_B_T, STEP_B_T, 0, 0},      {OP_PSI_T, STEP_PSI_T, OUTWARD, 1},
                 {OP_BIAS, STEP_BIAS, 0, 0},    {OP_FORCE, STEP_FORCE, 0, 0},
                 {OP_SOLVE, STEP_SOLVE, 0, 0},  {OP_MATRIX, STEP_SOLVE, 0, 0}};
    const value x = c->b->v[v];
    chosen_step made = no_step;
    made.in[0] = x.a;
    made.out[0] = v;
    if (x.code == OP_SUM) {
        made.in[1] = x.b;
        made.code = STEP_SUM_LINK;
        if (x.space >= SOA_SPACE_BASE) return 0;
        if (x.space == SOA_SPACE_JOINT) made.code = STEP_SUM_JOINT;
        if (x.space == SOA_SPACE_TIP) made.code = STEP_SUM_TIP;
    } else {
        size_t i = 0;
        while (i < sizeof table / sizeof *table && table[i].op != x.code)
            ++i;
        if (i == sizeof table / sizeof *table) return 0;
        made.code = table[i].step;
        /* a matrix of the caller for vectors of links is meant for the user's frames */
        if (made.code == STEP_SOLVE && (is_of_links(c->b, v) || is_of_links(c->b, x.a))) return 0;
        made.way = table[i].way;
        made.gain = table[i].gain;
        if (made.gain) c->s->keeps = 1;
    }
    return choose_if(c, made.in[0]) && choose_if(c, made.in[1]) && add_step(c, &made) >= 0;
}
static int choose_somehow(chooser *c, int v) {
    for (int i = 0; i < c->smooths; ++i) {
        const smooth_parts *m = c->smooth + i;
        if (m->filter >= 0 && (v == m->r || v == m->lambda))
            return choose_pair(c, m, v == m->lambda);
        if (m->filter < 0 && (v == m->r || v == m->lambda)) return choose_smooth(c, m);
    }
    for (int i = 0; i < c->filters; ++i) {
        const filter_parts *f = c->filter + i;
        if (v == f->z || v == f->e || v == f->nu) return choose_filter(c, f, STEP_FILTER);
    }
    for (int i = 0; i < c->gathers; ++i) {
        const filter_parts *f = c->gather + i;
        if (v == f->z || v == f->e) return choose_filter(c, f, STEP_GATHER);
    }
    const int rne = choose_rne(c, v);
    if (rne) return rne > 0;
    if (c->b->v[v].code == OP_PHI_T) return choose_motion(c, v);
    return choose_operator(c, v);
}
/* Chooses the step that makes value v, after those that it needs; 0 if there is none. */
static int choose(chooser *c, int v) {
    if (v < 0) return 0;
    if (c->s->maker[v] >= 0) return 1;
    if (c->b->v[v].code == OP_INPUT) return c->b->v[v].space != SOA_SPACE_EDGE;
    if (c->doing[v]) return 0;
    c->doing[v] = 1;
    const int done = choose_somehow(c, v);
    c->doing[v] = 0;
    return done;
}

/* ---- forces and motions ---------------------------------------------------------------------- */
/* Types of the first argument, the second and the first result, where they are vectors of links. */
static const struct {
    int code, a, b, out;
} types[] = {{STEP_RNE, NO_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_MOTION, NO_TYPE, MOTION_TYPE, MOTION_TYPE},
             {STEP_GATHER, FORCE_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_FILTER, FORCE_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_FILTER_BIAS, FORCE_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_SMOOTH, NO_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_SMOOTH_BIAS, NO_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_SPATIAL, MOTION_TYPE, MOTION_TYPE, MOTION_TYPE},
             {STEP_PSI_T, MOTION_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_BIAS, MOTION_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_FORCE, MOTION_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_INERTIA, MOTION_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_P, MOTION_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_H, FORCE_TYPE, NO_TYPE, NO_TYPE},
             {STEP_H_T, NO_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_G, NO_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_G_T, MOTION_TYPE, NO_TYPE, NO_TYPE},
             {STEP_X, FORCE_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_X_T, MOTION_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_S, FORCE_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_S_T, MOTION_TYPE, NO_TYPE, MOTION_TYPE},
             {STEP_B, NO_TYPE, NO_TYPE, FORCE_TYPE},
             {STEP_B_T, MOTION_TYPE, NO_TYPE, NO_TYPE}};

/* Gives value v a type; nonzero if that is new. */
static int give_type(const builder *b, selection *s, int v, int type) {
    if (!is_of_links(b, v) || type == NO_TYPE || s->type[v] == type || s->type[v] == CLASH_OF_TYPES)
        return 0;
    s->type[v] = (char)(s->type[v] == NO_TYPE ? type : CLASH_OF_TYPES);
    return 1;
}
static int give_types(const builder *b, selection *s, const chosen_step *t) {
    int changed = 0;
    if (t->code == STEP_SUM_LINK) {
        const int all[3] = {t->in[0], t->in[1], t->out[0]};
        for (int i = 0; i < 9; ++i)
            if (is_of_links(b, all[i / 3]))
                changed |= give_type(b, s, all[i % 3], s->type[all[i / 3]]);
        return changed;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (types[i].code == t->code)
            changed = give_type(b, s, t->in[0], types[i].a) |
                      give_type(b, s, t->in[1], types[i].b) |
                      give_type(b, s, t->out[0], types[i].out);
    return changed;
}
/* 1 if every vector of links is either a force or a motion. */
static int types_agree(const builder *b, selection *s) {
    int changed = 1;
    while (changed) {
        changed = 0;
        for (int i = 0; i < s->count; ++i)
            changed |= give_types(b, s, s->step + i);
    }
    for (int i = 0; i < s->count; ++i) {
        const chosen_step *t = s->step + i;
        const int all[5] = {t->in[0], t->in[1], t->out[0], t->out[1], t->out[2]};
        for (int j = 0; j < 5; ++j)
            if (is_of_links(b, all[j]) &&
                (s->type[all[j]] == NO_TYPE || s->type[all[j]] == CLASH_OF_TYPES))
                return 0;
    }
    return 1;
}

/* ---- passes ---------------------------------------------------------------------------------- */
/* Passes are inward and outward in turn, the first one `first`.  A step is in the pass of what it
 * reads, or in the next one if that goes the other way; what a dense solve makes is there in the
 * next.  D and G are there from the first inward pass on.  Returns the number of passes. */
static int number_passes(selection *s, int first) {
    int most = 0;
    for (int i = 0; i < s->count; ++i) {
        chosen_step *t = s->step + i;
        const int before[4] = {t->in[0] >= 0 ? s->maker[t->in[0]] : -1,
                               t->in[1] >= 0 ? s->maker[t->in[1]] : -1,
                               t->in[2] >= 0 ? s->maker[t->in[2]] : -1, t->after};
        const int dense = t->code == STEP_SOLVE;
        t->pass = dense ? -1 : 0;
        if (t->gain && first < 0) t->pass = 1;
        for (int j = 0; j < 4; ++j) {
            if (before[j] < 0) continue;
            const chosen_step *o = s->step + before[j];
            const int ready = o->pass + (o->code == STEP_SOLVE && !dense);
            if (ready > t->pass) t->pass = ready;
        }
        const int way = t->pass % 2 == 0 ? first : -first;
        if (t->way && way != t->way) ++t->pass;
        if (t->pass >= most) most = t->pass + 1;
    }
    return most;
}
/* The first step that needs D and G must make them: a filter, or the pass before it does it
 * alone. */
static int place_articulation(chooser *c) {
    selection *s = c->s;
    int first = -1;
    int biased = -1;
    for (int i = 0; i < s->count; ++i) {
        if (!s->step[i].gain) continue;
        s->articulates = 1;
        if (first < 0 || s->step[i].pass < s->step[first].pass) first = i;
        if (s->step[i].code != STEP_FILTER_BIAS) continue;
        if (biased >= 0) return 0;
        biased = i;
    }
    if (first < 0 || biased == first) return 1;
    if (biased >= 0) return 0;
    if (s->step[first].code == STEP_FILTER) {
        s->step[first].code = STEP_ARTICULATE_FILTER;
        return 1;
    }
    const int pass = s->step[first].pass;
    const int inward = (pass % 2 == 0 ? s->first : -s->first) > 0;
    chosen_step alone = no_step;
    alone.code = STEP_ARTICULATE;
    alone.way = INWARD;
    alone.pass = inward ? pass : pass - 1;
    if (add_step(c, &alone) < 0 || alone.pass < 0) return 0;
    memmove(s->step + 1, s->step, (size_t)(s->count - 1) * sizeof *s->step);
    s->step[0] = alone; /* makers are not read from here on */
    return 1;
}
/* Angular velocities in the place of P (rnea.h) must not destroy one that is read later. */
static int inertias_last(const selection *s) {
    int articulated = -1;
    for (int i = 0; i < s->count; ++i)
        if (s->step[i].code == STEP_ARTICULATE || s->step[i].code == STEP_ARTICULATE_FILTER)
            articulated = s->step[i].pass;
    for (int i = 0; i < s->count; ++i)
        if (s->step[i].code == STEP_RNE && articulated >= 0 && s->step[i].pass > articulated)
            return 0;
    return 1;
}

selection *soai_select(builder *b, int last) {
    chooser *c = soai_zeroed(1, sizeof *c);
    selection *s = soai_zeroed(1, sizeof *s);
    int fine = c && s && words_of_value(b, last) && b->v[last].space != SOA_SPACE_EDGE &&
               b->v[last].space < SOA_SPACE_BASE;
    if (fine) {
        c->b = b;
        c->s = s;
        c->l = letters_of(b);
        for (int i = 0; i < MOST_VALUES; ++i)
            s->maker[i] = -1;
        const int count = b->count;
        for (int i = 0; i < count; ++i)
            if (b->v[i].code == OP_PSI || b->v[i].code == OP_PHI) find_filter(c, i);
        for (int i = 0; i < count; ++i)
            if (b->v[i].code == OP_PSI_T) find_smooth(c, i);
        fine = choose(c, last) && s->count && types_agree(b, s);
    }
    if (fine) {
        const int in = number_passes(s, INWARD);
        const int out = number_passes(s, OUTWARD);
        s->first = in <= out ? INWARD : OUTWARD;
        s->passes = number_passes(s, s->first);
        fine = place_articulation(c) && inertias_last(s);
        for (int i = 0; i < s->count; ++i)
            s->keeps |= s->step[i].code == STEP_FILTER || s->step[i].code == STEP_SOLVE;
    }
    free(c);
    if (fine) return s;
    soai_selection_free(s);
    b->why = NULL;
    return NULL;
}
int soai_is_compliance(soa_plan *p) {
    builder *b = p->values;
    const polynomial *words = words_of_value(b, p->last);
    const unsigned char Omega[7] = {
        (unsigned char)letter_of(b, LEAF_TIPS, 1),  (unsigned char)letter_of(b, LEAF_PSI, 1),
        (unsigned char)letter_of(b, LEAF_HINGE, 1), (unsigned char)letter_of(b, LEAF_DINV, 0),
        (unsigned char)letter_of(b, LEAF_HINGE, 0), (unsigned char)letter_of(b, LEAF_PSI, 0),
        (unsigned char)letter_of(b, LEAF_TIPS, 0)};
    return p->chosen && words && words->count == 1 && words->w[0].factor == 1 &&
           words->w[0].length == 7 && !memcmp(words->w[0].at, Omega, 7);
}
