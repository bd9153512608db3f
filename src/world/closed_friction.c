/* closed_friction.c  Coulomb friction of a closed machine (closed_friction.h). */
#include "closed_friction.h"
#include "../base/small_algebra.h"
#include "box_lcp.h"
#include "joint_friction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stuck coordinate breaks loose slightly beyond its bound, by much more than `softness` changes.
 * So it certainly accelerates then, or is pinned. */
static const double break_margin = 1e-7;
/* A pinned coordinate faster than this (rad/s, m/s) is not held by anything. */
static const double pinned_speed = 1e-8;
/* Loops make J N J' singular. This fraction of its largest diagonal entry is added when the stuck
 * coordinates are separated from the sliding ones. */
static const double softness = 1e-10;

soa_status soai_rubbing_init(soai_rubbing *r, soa_constraints *constraints, soa_work *work) {
    memset(r, 0, sizeof *r);
    r->constraints = constraints;
    r->work = work;
    r->model = soa_constraints_model(constraints);
    r->nv = soa_model_nv(r->model);
    soa_constraint_def def;
    const size_t nv = (size_t)r->nv;
    double *up = calloc(2 * nv + 1, sizeof *up), *down = up + nv;
    if (!up) return SOA_E_MEMORY;
    soai_losses(r->model, NULL, up, down);
    size_t n = 0;
    for (size_t i = 0; i < nv; ++i)
        n += up[i] > 0 || down[i] > 0;
    for (int i = 0, seen = 0; seen < soa_constraints_count(constraints); ++i) {
        if (soa_constraints_get_def(constraints, i, &def)) continue;
        ++seen;
        if (def.kind == SOA_LOOP && def.friction > 0)
            n += (size_t)(6 - soa_constraint_def_row_count(&def));
    }
    if (!n) {
        free(up);
        return SOA_OK;
    }
    r->list = calloc(n, sizeof *r->list);
    r->numbers = calloc(2 * n * nv + 4 * n * n + 7 * n, sizeof *r->numbers);
    r->integers = calloc(3 * n, sizeof *r->integers);
    if (!r->list || !r->numbers || !r->integers) {
        free(up);
        soai_rubbing_release(r);
        return SOA_E_MEMORY;
    }
    double *d = r->numbers;
    r->N = d;
    d += n * nv;
    r->A = d;
    d += n * n;
    r->whole = d;
    d += n * n;
    r->scratch = d;
    d += 2 * n * n + n;
    r->hold = d;
    d += n;
    r->x = d;
    d += n;
    r->lo = d;
    d += n;
    r->hi = d;
    d += n;
    r->b = d;
    d += n;
    r->free = d;
    d += n;
    r->stuck = r->integers;
    r->state = r->stuck + n;
    r->pick = r->state + n;
    for (int i = 0; i < r->nv; ++i) {
        if (!(up[i] > 0 || down[i] > 0)) continue;
        d[i] = 1;
        r->list[r->count++] =
            (soai_rub){.dof = i, .constraint = -1, .up = up[i], .down = down[i], .row = d};
        d += nv;
    }
    for (int i = 0, seen = 0; seen < soa_constraints_count(constraints); ++i) {
        if (soa_constraints_get_def(constraints, i, &def)) continue;
        ++seen;
        if (def.kind != SOA_LOOP || !(def.friction > 0)) continue;
        for (int k = 0; k < 6 - soa_constraint_def_row_count(&def); ++k, d += nv)
            r->list[r->count++] =
                (soai_rub){-1, i, k, def.friction, def.friction, SOAI_STUCK, 0, 0, d};
        soa_constraints_set_friction(constraints, i, 0);
        r->cut = 1;
    }
    free(up);
    return SOA_OK;
}
void soai_rubbing_release(soai_rubbing *r) {
    for (int k = 0; k < r->count; ++k)
        if (r->list[k].dof < 0)
            soa_constraints_set_friction(r->constraints, r->list[k].constraint, r->list[k].up);
    free(r->list);
    free(r->numbers);
    free(r->integers);
    memset(r, 0, sizeof *r);
}
const char *soai_rubbing_name(const soai_rubbing *r, int number) {
    const soai_rub *k = r->list + number;
    if (k->dof < 0) return soa_constraints_name(r->constraints, k->constraint);
    return soai_joint_of(r->model, k->dof);
}

/* Sets the reference for responses: that of the tree without its loops. At a dead point the
 * response of the closed machine is only rounding error. */
static void measure(soai_rubbing *r, const double *q) {
    for (int i = 0; i < r->count; ++i) {
        const double *row = r->list[i].row;
        /* Fails if a massless link is held only by the loop. */
        if (soa_minv_mul(r->model, r->work, q, row, r->N)) return;
        r->largest = fmax(r->largest, soai_dot(r->nv, row, r->N));
    }
}
static soa_status rates(soai_rubbing *r, const double *q, const double *v) {
    soa_status s = r->cut ? soa_kinematics(r->model, r->work, q, v, NULL) : SOA_OK;
    for (int i = 0; i < r->count && !s; ++i) {
        soai_rub *k = r->list + i;
        if (k->dof < 0)
            s = soa_constraints_joint_row(r->constraints, r->work, k->constraint, k->coordinate,
                                          k->row, &k->rest);
        k->rate = k->dof < 0 ? soai_dot(r->nv, k->row, v) : v[k->dof];
    }
    return s;
}
soa_status soai_rubbing_at(soai_rubbing *r, const double *q, const double *v) {
    const soa_status s = rates(r, q, v);
    if (s || r->largest > 0 || !r->count) return s;
    measure(r, q);
    /* Restores the kinematics in the work space. */
    return rates(r, q, v);
}
static double torque_of(const soai_rub *k) {
    if (k->mode > 0) return -k->up;
    if (k->mode < 0) return k->down;
    return 0;
}
void soai_rubbing_torque(const soai_rubbing *r, const double *v, double *tau) {
    for (int i = 0; i < r->count; ++i) {
        const soai_rub *k = r->list + i;
        const double torque = torque_of(k);
        if (k->dof >= 0)
            tau[k->dof] += torque + soai_undo_sign(v[k->dof], k->up, k->down);
        else
            for (int j = 0; j < r->nv; ++j)
                tau[j] += torque * k->row[j];
    }
}
double soai_rubbing_power(const soai_rubbing *r) {
    double power = 0;
    for (int i = 0; i < r->count; ++i)
        if (r->list[i].mode == SOAI_UP || r->list[i].mode == SOAI_DOWN)
            power -= torque_of(r->list + i) * r->list[i].rate;
    return power;
}

/* --- the stuck coordinates -------------------------------------------------------------------- */
void soai_rubbing_list(soai_rubbing *r) {
    r->stuck_count = 0;
    for (int i = 0; i < r->count; ++i)
        if (r->list[i].mode == SOAI_STUCK) r->stuck[r->stuck_count++] = i;
}
/* Computes N J' row by row, and J N J'. *most is the largest diagonal entry so far. */
static soa_status responses(soai_rubbing *r, double *most) {
    const int n = r->stuck_count, nv = r->nv;
    for (int k = 0; k < n; ++k) {
        const soa_status s = soa_closed_response(r->constraints, r->work, r->list[r->stuck[k]].row,
                                                 r->N + (size_t)k * (size_t)nv);
        if (s) return s;
    }
    for (int k = 0; k < n; ++k)
        for (int l = 0; l < n; ++l) {
            r->A[k * n + l] = soai_dot(nv, r->list[r->stuck[k]].row, r->N + (size_t)l * (size_t)nv);
            if (k == l && r->A[k * n + k] > r->largest) r->largest = r->A[k * n + k];
        }
    *most = r->largest;
    return SOA_OK;
}
/* Factors A = L L' with the largest pivots first. L is n x rank, row by row, and replaces A; its
 * rows are in A's order. `diagonal` is work space. Pivots below `least` count as zero: there the
 * stuck coordinates hold each other. */
static int halves(int n, double least, double *A, double *L, double *diagonal) {
    int rank = 0;
    for (int i = 0; i < n; ++i)
        diagonal[i] = A[i * n + i];
    for (; rank < n; ++rank) {
        int p = 0;
        for (int i = 1; i < n; ++i)
            if (diagonal[i] > diagonal[p]) p = i;
        if (!(diagonal[p] > least)) break;
        const double root = sqrt(diagonal[p]);
        for (int i = 0; i < n; ++i) {
            const double rest =
                (A[i * n + p] + A[p * n + i]) / 2 - soai_dot(rank, L + i * n, L + p * n);
            L[i * n + rank] = rest / root;
            diagonal[i] -= L[i * n + rank] * L[i * n + rank];
        }
        diagonal[p] = 0;
    }
    return rank;
}
/* Finds x of least norm with A x = b, as far as it exists: with A = L L', x = L (L'L)^-2 L' b, and
 * one refinement with the residual. */
static soa_status least_norm(soai_rubbing *r, double most, const double *b, double *x) {
    const int n = r->stuck_count;
    double *const L = r->scratch, *const B = L + n * n, *const y = B + n * n;
    for (int k = 0; k < n; ++k)
        x[k] = 0;
    const int rank = halves(n, 10 * softness * most, r->A, L, y);
    for (int pass = 0; pass < 2; ++pass) {
        for (int k = 0; k < rank; ++k)
            y[k] = 0;
        for (int i = 0; i < n; ++i) {
            const double left = b[i] - soai_dot(n, r->A + i * n, x);
            for (int k = 0; k < rank; ++k)
                y[k] += L[i * n + k] * left;
        }
        for (int twice = 0; twice < 2; ++twice) {
            for (int k = 0; k < rank; ++k)
                for (int l = 0; l <= k; ++l) {
                    B[k * rank + l] = 0;
                    for (int i = 0; i < n; ++i)
                        B[k * rank + l] += L[i * n + k] * L[i * n + l];
                }
            if (!soai_solve_positive(rank, B, y)) return SOA_E_HINGE_SINGULAR;
        }
        for (int i = 0; i < n; ++i)
            x[i] += soai_dot(rank, L + i * n, y);
    }
    return SOA_OK;
}
soa_status soai_rubbing_hold(soai_rubbing *r, const double *qdd, double *tau) {
    double most;
    soa_status s = r->stuck_count ? responses(r, &most) : SOA_OK;
    if (s || !r->stuck_count) return s;
    for (int k = 0; k < r->stuck_count; ++k) {
        const soai_rub *of = r->list + r->stuck[k];
        r->b[k] = -(soai_dot(r->nv, of->row, qdd) + of->rest);
    }
    if ((s = least_norm(r, most, r->b, r->hold))) return s;
    for (int k = 0; k < r->stuck_count; ++k)
        for (int j = 0; j < r->nv; ++j)
            tau[j] += r->hold[k] * r->list[r->stuck[k]].row[j];
    return SOA_OK;
}
soa_status soai_rubbing_settle(soai_rubbing *r, double *v) {
    double most;
    soa_status s = r->stuck_count ? responses(r, &most) : SOA_OK;
    if (s || !r->stuck_count) return s;
    for (int k = 0; k < r->stuck_count; ++k)
        r->b[k] = -soai_dot(r->nv, r->list[r->stuck[k]].row, v);
    if ((s = least_norm(r, most, r->b, r->x))) return s;
    for (int k = 0; k < r->stuck_count; ++k)
        for (int j = 0; j < r->nv; ++j)
            v[j] += r->N[(size_t)k * (size_t)r->nv + (size_t)j] * r->x[k];
    return SOA_OK;
}

/* --- events ----------------------------------------------------------------------------------- */
void soai_rubbing_gather(soai_rubbing *r, double tiny) {
    for (int i = 0; i < r->count; ++i) {
        soai_rub *k = r->list + i;
        const int rests = k->mode != SOAI_UP && k->mode != SOAI_DOWN;
        if (!(fabs(k->rate) > tiny) || (rests && !(fabs(k->rate) > 10 * pinned_speed)))
            k->mode = SOAI_STUCK;
        else
            k->mode = k->rate > 0 ? SOAI_UP : SOAI_DOWN;
    }
    soai_rubbing_list(r);
}
/* Finds x of least norm with A_SS x = right, where S is the set of coordinates with state 0 among
 * the n considered. r->pick receives their numbers. */
static soa_status solve_stuck(soai_rubbing *r, int n, double most, const double *right, double *x,
                              int *few) {
    *few = 0;
    for (int l = 0; l < n; ++l)
        if (r->state[l] == 0) r->pick[(*few)++] = l;
    for (int l = 0; l < *few; ++l) {
        r->b[l] = right[r->pick[l]];
        for (int m = 0; m < *few; ++m)
            r->A[l * *few + m] = r->whole[r->pick[l] * n + r->pick[m]];
    }
    r->stuck_count = *few;
    const soa_status s = least_norm(r, most, r->b, x);
    r->stuck_count = n;
    return s;
}
/* Coordinates that the holding torques of least norm would overload are moved to their bounds, the
 * worst first, because `hold` will later find the same torques. free: second rates without any
 * torque. */
static soa_status unload(soai_rubbing *r, int n, double most, const double *free, double *x) {
    for (int round = 0; round < n; ++round) {
        int few, worst = -1;
        double over = 0, *right = r->hold;
        for (int k = 0; k < n; ++k) {
            right[k] = -free[k];
            for (int l = 0; l < n; ++l)
                if (r->state[l])
                    right[k] -= r->whole[k * n + l] * (r->state[l] < 0 ? r->lo[l] : r->hi[l]);
        }
        const soa_status s = solve_stuck(r, n, most, right, x, &few);
        if (s) return s;
        for (int l = 0; l < few; ++l) {
            const int k = r->pick[l];
            const double beyond = fmax(r->lo[k] - x[l], x[l] - r->hi[k]) / (r->hi[k] - r->lo[k]);
            if (beyond > break_margin / 2 && beyond > over) {
                over = beyond;
                worst = l;
            }
        }
        if (worst < 0) return SOA_OK;
        r->state[r->pick[worst]] = x[worst] < r->lo[r->pick[worst]] ? -1 : 1;
    }
    return SOA_OK;
}
/* Tests whether the stuck coordinates also hold coordinate k: no response of its own remains. */
static soa_status held(soai_rubbing *r, int n, int k, double most, int *is) {
    int few;
    const double *row = r->whole + k * n;
    const soa_status s = solve_stuck(r, n, most, row, r->x, &few);
    *is = few > 0 && !(row[k] - soai_dot(few, r->b, r->x) > 1e-6 * row[k]);
    return s;
}
soa_status soai_rubbing_divide(soai_rubbing *r, const double *qdd) {
    const int n = r->stuck_count;
    double most, *free = r->free;
    soa_status s = n ? responses(r, &most) : SOA_OK;
    if (s || !n) return s;
    memcpy(r->whole, r->A, (size_t)(n * n) * sizeof *r->A);
    for (int k = 0; k < n; ++k) {
        const soai_rub *of = r->list + r->stuck[k];
        free[k] = soai_dot(r->nv, of->row, qdd) + of->rest;
        r->lo[k] = -of->up;
        r->hi[k] = of->down;
        r->A[k * n + k] += most > 0 ? softness * most : 1;
    }
    if (!soai_box_lcp(n, r->A, free, r->lo, r->hi, r->x, r->state, r->scratch, r->pick))
        return SOA_E_NO_CONVERGENCE;
    if ((s = unload(r, n, most, free, r->x))) return s;
    for (int k = 0; k < n; ++k) {
        int pinned = 0;
        if (r->state[k] && (s = held(r, n, k, most, &pinned))) return s;
        if (r->state[k] < 0) {
            r->list[r->stuck[k]].mode = pinned ? SOAI_PINNED_UP : SOAI_UP;
        } else if (r->state[k] > 0) {
            r->list[r->stuck[k]].mode = pinned ? SOAI_PINNED_DOWN : SOAI_DOWN;
        } else {
            r->list[r->stuck[k]].mode = SOAI_STUCK;
        }
    }
    soai_rubbing_list(r);
    return SOA_OK;
}
int soai_rubbing_overdue(const soai_rubbing *r) {
    for (int i = 0, stuck = 0; i < r->count; ++i) {
        const soai_rub *k = r->list + i;
        if (k->mode == SOAI_UP || k->mode == SOAI_DOWN) {
            if ((double)k->mode * k->rate < -pinned_speed) return i;
        } else if (k->mode == SOAI_STUCK) {
            const double h = r->hold[stuck++], most = 2 * break_margin * (k->up + k->down);
            if (h < -k->up - most || h > k->down + most) return i;
        }
    }
    return -1;
}
void soai_rubbing_watch(const soai_rubbing *r, double *g) {
    for (int i = 0, stuck = 0; i < r->count; ++i) {
        const soai_rub *k = r->list + i;
        g[2 * i] = g[2 * i + 1] = 1;
        if (k->mode == SOAI_STUCK) {
            const double h = r->hold[stuck++];
            g[2 * i] = k->up + break_margin * (k->up + k->down) + h;
            g[2 * i + 1] = k->down + break_margin * (k->up + k->down) - h;
        } else if (k->mode == SOAI_PINNED_UP || k->mode == SOAI_PINNED_DOWN) {
            g[2 * i] = pinned_speed - fabs(k->rate);
        } else {
            g[2 * i] = (double)k->mode * k->rate;
        }
    }
}
