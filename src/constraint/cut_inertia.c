/* cut_inertia.c  rotors of cut joints: what they add to the mass matrix.
 *
 * A reflected rotor has the energy G^2 Jm rate^2 / 2, rate = J v that of the cut joint's
 * coordinate.  An exact one sits on link 1 and spins about u: Jm (G rate + u . w1)^2 / 2, less Jm
 * (u . w1)^2 / 2, which the inertia of link 1 holds already.  So both are v'B'W B v / 2: B has a
 * row J for each coordinate, an exact rotor a row u . w1 behind it,
 *     W = G^2 Jm,     or     W = [G^2 Jm, G Jm; G Jm, 0],
 * and the forces on the tree are -B'W (B vdot + rest), rest the rate of B v at vdot = 0.  With Z =
 *     M^-1 B', (M + B'W B)^-1 = M^-1 - Z K Z',     K = (1 + W B Z)^-1 W
 *     (Woodbury)
 * which needs no inverse of W.  O(n) for each row of B, and O(rows of B ^3). */
#include "constraint_internal.h"
#include "../base/small_algebra.h"
#include <math.h>

static const double *row_of(const soa_constraints *c, const double *A, int i) {
    return A + (size_t)i * (size_t)c->model->nv;
}
/* y = W x */
static void weigh(const soa_constraints *c, const double *x, double *y) {
    for (int i = 0; i < c->inertias; ++i) {
        y[i] = c->W[i] * x[i];
        if (i + 1 < c->inertias) y[i] += c->W_next[i] * x[i + 1];
        if (i > 0) y[i] += c->W_next[i - 1] * x[i - 1];
    }
}

/* Gauss and Jordan with row pivots: S (n x n) destroyed, right (n x n) becomes S^-1 right; 0 where
 * S is singular. */
static int invert(int n, double *S, double *right) {
    for (int j = 0; j < n; ++j) {
        int best = j;
        for (int i = j + 1; i < n; ++i)
            if (fabs(S[n * i + j]) > fabs(S[n * best + j])) best = i;
        if (!(fabs(S[n * best + j]) > 1e-300)) return 0;
        for (int k = 0; k < n && best != j; ++k) {
            const double s = S[n * j + k], r = right[n * j + k];
            S[n * j + k] = S[n * best + k];
            S[n * best + k] = s;
            right[n * j + k] = right[n * best + k];
            right[n * best + k] = r;
        }
        const double by = 1 / S[n * j + j];
        for (int k = 0; k < n; ++k) {
            S[n * j + k] *= by;
            right[n * j + k] *= by;
        }
        for (int i = 0; i < n; ++i) {
            const double f = S[n * i + j];
            for (int k = 0; k < n && i != j && f != 0; ++k) {
                S[n * i + k] -= f * S[n * j + k];
                right[n * i + k] -= f * right[n * j + k];
            }
        }
    }
    return 1;
}

soa_status soai_cut_prepare(soa_constraints *c, soa_work *w) {
    if (!c || !c->inertias) return SOA_OK;
    const int n = c->inertias, nv = c->model->nv;
    double *K = c->S_right, *column = c->part2, *weighed = column + n;
    for (int i = 0; i < n; ++i)
        soai_minv_apply(w, row_of(c, c->B, i), c->Z + (size_t)i * (size_t)nv);
    for (int j = 0; j < n; ++j) { /* 1 + W B Z, W; column by column */
        for (int i = 0; i < n; ++i)
            column[i] = soai_dot(nv, row_of(c, c->B, i), row_of(c, c->Z, j));
        weigh(c, column, weighed);
        for (int i = 0; i < n; ++i) {
            c->S[n * i + j] = weighed[i] + (i == j);
            column[i] = i == j;
        }
        weigh(c, column, weighed);
        for (int i = 0; i < n; ++i)
            K[n * i + j] = weighed[i];
    }
    return invert(n, c->S, K) ? SOA_OK : SOA_E_HINGE_SINGULAR;
}
/* y -= Z K x, x of the rotors */
static void subtract(const soa_constraints *c, const double *x, double *y) {
    const int n = c->inertias, nv = c->model->nv;
    for (int i = 0; i < n; ++i) {
        const double f = soai_dot(n, c->S_right + n * i, x), *z = row_of(c, c->Z, i);
        for (int j = 0; j < nv && f != 0; ++j)
            y[j] -= f * z[j];
    }
}
void soai_cut_minv(soa_constraints *c, soa_work *w, const double *x, double *y) {
    soai_minv_apply(w, x, y);
    if (!c || !c->inertias) return;
    for (int i = 0; i < c->inertias; ++i)
        c->part2[i] = soai_dot(c->model->nv, row_of(c, c->Z, i), x);
    subtract(c, c->part2, y);
}
static void rates_of(const soa_constraints *c, const double *a, int rest, double *x) {
    for (int i = 0; i < c->inertias; ++i)
        x[i] = (rest ? c->inertia_row[i].gamma : 0) +
               (a ? soai_dot(c->model->nv, row_of(c, c->B, i), a) : 0);
}
void soai_cut_correct(soa_constraints *c, double *vdot) {
    if (!c || !c->inertias) return;
    rates_of(c, vdot, 1, c->part2);
    subtract(c, c->part2, vdot);
}
void soai_cut_force(soa_constraints *c, const double *a, int rest, double *f) {
    if (!c || !c->inertias) return;
    double *force = c->part2 + c->inertias;
    rates_of(c, a, rest, c->part2);
    weigh(c, c->part2, force);
    for (int i = 0; i < c->inertias; ++i)
        for (int j = 0; j < c->model->nv; ++j)
            f[j] += force[i] * row_of(c, c->B, i)[j];
}
void soai_cut_mass(soa_constraints *c, double *M) {
    const int nv = c->model->nv;
    for (int k = 0; k < c->inertias; ++k)
        for (int l = k > 0 ? k - 1 : 0; l < c->inertias && l <= k + 1; ++l) {
            double by;
            if (l == k) {
                by = c->W[k];
            } else {
                by = c->W_next[l < k ? l : k];
            }
            const double *one = row_of(c, c->B, k), *two = row_of(c, c->B, l);
            for (int i = 0; i < nv && by != 0; ++i)
                for (int j = 0; j < nv && one[i] != 0; ++j)
                    M[nv * i + j] += by * one[i] * two[j];
        }
}

static soa_status closed_energy(soa_constraints *c, soa_work *w, const double *q, const double *v,
                                double *kinetic, double *potential) {
    if (!c || !w || w->model != c->model || !kinetic || !potential) return SOA_E_ARGUMENT;
    int stores = 0, rows = 0;
    double T, U;
    soa_status s = soa_energy(c->model, w, q, v, &T, &U);
    for (int i = 0; i < c->capacity.constraints; ++i) {
        const constraint *k = c->list + i;
        if (k->used && k->on && k->def.kind == SOA_LOOP)
            stores |= k->def.stiffness != 0 || (k->def.rotor_inertia > 0 && k->def.gear_ratio != 0);
    }
    if (s || (stores && (s = soai_constraint_evaluate(c, w, q, v ? v : w->zero, 0, &rows))))
        return s;
    *kinetic = T;
    *potential = U;
    if (!stores) return SOA_OK;
    soai_constraint_form(c, w, rows, c->G);
    for (int i = 0; i < c->capacity.constraints; ++i)
        if (c->list[i].used && c->list[i].on && c->list[i].def.kind == SOA_LOOP)
            *potential += c->list[i].spring;
    rates_of(c, v, 0, c->part2);
    weigh(c, c->part2, c->part2 + c->inertias);
    *kinetic += soai_dot(c->inertias, c->part2, c->part2 + c->inertias) / 2;
    return SOA_OK;
}
soa_status soa_closed_energy(soa_constraints *c, soa_work *w, const double *q, const double *v,
                             double *kinetic, double *potential) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, closed_energy(c, w, q, v, kinetic, potential));
}
