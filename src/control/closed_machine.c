/* closed_machine.c  what laws need of a machine with loops.  Dense, in the size of what is driven.
 *
 * Motion.  Rows of G v = 0 split the coordinates into dependent ones, d, and independent ones, i:
 *     v = E v_i,   E = [1; -G_d^-1 G_i]
 *                  WD89 (10)
 * Dependent are taken from what nobody drives first, then from what others drive, then from own
 * coordinates that are not primary, primary ones last.
 *
 * Torques.  A force x on all coordinates does what E*x does on the independent ones: tau = E*rho of
 * WD89.  Own coordinates that are dependent get none; they follow.
 *
 * Accelerations.  Those of the closed machine are affine in the torques: a = b + sum_k r_k tau_k, b
 * without torques and r_k the answer to a unit torque (soa_closed_fd, soa_closed_response).  Over
 * the coordinates t that are chosen, own ones first, A = r_tt is symmetric and positive definite,
 * and
 *     tau_t = A^-1 (a_t - b_t)                                      inverse dynamics of these
 *     coordinates J_g = J r A^-1 (own columns),   M_r = A^-1 (own block)        task rows and
 *     inertia, others held Lambda = (J_g M_r^-1 J_g')^-1,  tau = tau(a_own = 0) + J_g' Lambda (what
 *     is lacking)
 * Everything that soa_closed_fd knows is in it: floating bases, passive joints, springs, dampers
 * and rotors of cut joints. */
#include "control_internal.h"
#include "../constraint/constraint_internal.h"

#include <math.h>

/* of a row's largest entry: smaller pivots are redundant rows */
static const double row_least = 1e-12;
static const double pivot_least =
    1e-6; /* of the row's largest entry: a better class gives way to the next below this */
static const double choice_least =
    1e-9; /* relative to its compliance: what is left of a coordinate that follows others */

/* Who may depend: 0 first, 3 last. */
static int class_of(const soa_control *c, int j) {
    if (c->drive[j] == SOA_DRIVE_NONE) return 0;
    if (c->drive[j] == SOA_DRIVE_OTHER) return 1;
    return c->closed.primary[j] ? 3 : 2;
}

/* --- torques ---------------------------------------------------------------------------------- */
/* The largest entry of a row over the coordinates of a class that are still independent. */
static int best_column(const soa_control *c, const double *row, int class) {
    int best = -1;
    for (int j = 0; j < c->nv; ++j) {
        if (c->closed.dependent[j] || class_of(c, j) != class) continue;
        if (best < 0 || fabs(row[j]) > fabs(row[best])) best = j;
    }
    return best;
}
/* The pivot of the next step: over all rows left, the best entry of the first class that has a fair
 * one. */
static int choose_pivot(const soa_control *c, const double *size, int done, int rows, int *row) {
    for (int class = 0; class < 4; ++class) {
        const double least = class < 3 ? pivot_least : row_least;
        double most = least;
        int column = -1;
        for (int r = done; r < rows; ++r) {
            const double *x = c->closed.G + (size_t)r * (size_t)c->nv;
            const int j = best_column(c, x, class);
            if (j < 0 || size[r] == 0 || !(fabs(x[j]) > most * size[r])) continue;
            most = fabs(x[j]) / size[r];
            column = j;
            *row = r;
        }
        if (column >= 0) return column;
    }
    return -1;
}
static void swap_rows(soa_control *c, double *size, int a, int b) {
    double *x = c->closed.G + (size_t)a * (size_t)c->nv;
    double *y = c->closed.G + (size_t)b * (size_t)c->nv;
    for (int j = 0; j < c->nv && a != b; ++j) {
        const double t = x[j];
        x[j] = y[j];
        y[j] = t;
    }
    const double t = size[a];
    size[a] = size[b];
    size[b] = t;
}
/* G_d^-1 G by Gauss and Jordan; row k belongs to the dependent coordinate which[k]. */
soa_status soai_closed_split(soa_control *c, const double *q) {
    soai_closed *m = &c->closed;
    const int nv = c->nv;
    const int rows = soa_constraints_row_count(m->constraints);
    const soa_status s = soa_constraints_evaluate(m->constraints, c->work, &(soa_input){.q = q},
                                                  NULL, NULL, m->G, NULL);
    if (s) return s;
    memset(m->dependent, 0, (size_t)nv);
    double *size = m->row_size;
    for (int r = 0; r < rows; ++r) {
        size[r] = 0;
        for (int j = 0; j < nv; ++j)
            size[r] = fmax(size[r], fabs(m->G[(size_t)r * (size_t)nv + (size_t)j]));
    }
    m->rank = 0;
    while (m->rank < rows) {
        int row = 0;
        const int column = choose_pivot(c, size, m->rank, rows, &row);
        if (column < 0) break;
        swap_rows(c, size, m->rank, row);
        double *pivot = m->G + (size_t)m->rank * (size_t)nv;
        const double by = 1 / pivot[column];
        for (int j = 0; j < nv; ++j)
            pivot[j] *= by;
        for (int r = 0; r < rows; ++r) {
            double *x = m->G + (size_t)r * (size_t)nv;
            const double times = r == m->rank ? 0 : x[column];
            for (int j = 0; j < nv && times != 0; ++j)
                x[j] -= times * pivot[j];
        }
        m->dependent[column] = 1;
        m->which[m->rank++] = column;
    }
    return SOA_OK;
}
/* x = E*x, zero at dependent coordinates; split. */
void soai_closed_reduce(const soa_control *c, double *x) {
    const soai_closed *m = &c->closed;
    for (int k = 0; k < m->rank; ++k) {
        const double *row = m->G + (size_t)k * (size_t)c->nv;
        const double force = x[m->which[k]];
        for (int j = 0; j < c->nv && force != 0; ++j)
            if (!m->dependent[j]) x[j] -= row[j] * force;
    }
    for (int k = 0; k < m->rank; ++k)
        x[m->which[k]] = 0;
}

soa_status soa_control_dependent_coordinates(soa_control *c, const double *q,
                                             unsigned char *flags) {
    if (!c || !flags) return SOA_E_ARGUMENT;
    soa_status s = soai_check_state(c->model, q, NULL, NULL, NULL, &c->work->body);
    if (!s && c->closed.constraints) s = soai_closed_split(c, q);
    for (int j = 0; !s && j < c->nv; ++j)
        flags[j] = c->closed.constraints ? c->closed.dependent[j] : 0;
    return s;
}
soa_status soai_control_write(soa_control *c, const double *q, double *torque, double *tau) {
    if (c->closed.constraints) {
        const soa_status s = soai_closed_split(c, q);
        if (s) return s;
        soai_closed_reduce(c, torque);
    }
    for (int j = 0; j < c->nv; ++j)
        tau[j] = soai_own(c, j) ? torque[j] : 0;
    return SOA_OK;
}
soa_status soai_closed_add_cut(soa_control *c, const double *q, const double *v, double *torque) {
    soai_closed *m = &c->closed;
    if (!m->constraints) return SOA_OK;
    const soa_status s = soai_cut_losses(m->constraints, c->work, q, v, NULL, m->force);
    for (int j = 0; !s && j < c->nv; ++j)
        torque[j] += m->force[j];
    return s;
}

/* --- accelerations ---------------------------------------------------------------------------- */
/* b: accelerations without torques, under wrenches; what the law does not compensate is taken out
 * of the machine. */
static soa_status free_motion(soa_control *c, const double *q, const double *v,
                              const soa_wrench *wrenches, int count) {
    soai_closed *m = &c->closed;
    const unsigned left =
        (unsigned)SOA_COMPENSATE_ALL & ~c->compensate & ~(unsigned)SOA_COMPENSATE_COULOMB;
    soa_closed_options o = soa_closed_options_default();
    o.brief = true;
    soa_status s = soai_control_torques(c, q, v, NULL, NULL, 0, left | SOAI_COULOMB_SIGN, m->force);
    if (s) return s;
    if (c->compensate & SOA_COMPENSATE_COULOMB) {
        if ((s = soai_control_torques(c, q, v, NULL, NULL, 0, SOA_COMPENSATE_COULOMB, m->spare)))
            return s;
        for (int j = 0; j < c->nv; ++j)
            m->force[j] -= m->spare[j];
    }
    return soa_closed_fd(
        m->constraints, c->work, &o,
        &(soa_input){.q = q, .v = v, .tau = m->force, .wrenches = wrenches, .wrench_count = count},
        m->b, NULL, NULL);
}
static double *entry(soai_closed *m, int i, int j) {
    return &m->A[(size_t)i * (size_t)m->most + (size_t)j];
}
static void swap_choices(soai_closed *m, int nv, int a, int b) {
    if (a == b) return;
    const int t = m->choice[a];
    m->choice[a] = m->choice[b];
    m->choice[b] = t;
    for (int j = 0; j < nv; ++j) {
        double *x = &m->r[(size_t)a * (size_t)nv + (size_t)j];
        double *y = &m->r[(size_t)b * (size_t)nv + (size_t)j];
        const double z = *x;
        *x = *y;
        *y = z;
    }
}
/* What is left of the compliance of candidate i when those chosen, 0 to n - 1, are held; row i of L
 * is made. */
static double remainder_of(soai_closed *m, int nv, int n, int i) {
    double left = m->r[(size_t)i * (size_t)nv + (size_t)m->choice[i]];
    for (int k = 0; k < n; ++k) {
        double sum = m->r[(size_t)i * (size_t)nv + (size_t)m->choice[k]];
        for (int j = 0; j < k; ++j)
            sum -= *entry(m, i, j) * *entry(m, k, j);
        *entry(m, i, k) = sum / *entry(m, k, k);
        left -= *entry(m, i, k) * *entry(m, i, k);
    }
    return left;
}
/* Answers to unit torques, and of the candidates a set that can be accelerated at will: own ones
 * before others, primary ones first.  L L' = A in m->A, in the order chosen. */
soa_status soai_closed_prepare(soa_control *c, const double *q, const double *v,
                               const soa_wrench *wrenches, int count) {
    soai_closed *m = &c->closed;
    const int nv = c->nv;
    soa_status s = free_motion(c, q, v, wrenches, count);
    m->most = 0;
    for (int class = 3; class > 0; --class)
        for (int j = 0; j < nv; ++j)
            if (class_of(c, j) == class) m->choice[m->most++] = j;
    memset(m->force, 0, (size_t)nv * sizeof *m->force);
    double largest = 0;
    for (int i = 0; !s && i < m->most; ++i) {
        double *r = m->r + (size_t)i * (size_t)nv;
        m->force[m->choice[i]] = 1;
        s = soa_closed_response(m->constraints, c->work, m->force, r);
        m->force[m->choice[i]] = 0;
        largest = fmax(largest, r[m->choice[i]]);
    }
    if (s) return s;
    m->chosen = 0;
    m->own = 0;
    for (int class = 3; class > 0; --class)
        for (;;) {
            int best = -1;
            double most = choice_least;
            for (int i = m->chosen; i < m->most; ++i) {
                const double whole = m->r[(size_t)i * (size_t)nv + (size_t)m->choice[i]];
                if (class_of(c, m->choice[i]) != class || !(whole > 1e-13 * largest)) continue;
                const double left = remainder_of(m, nv, m->chosen, i) / whole;
                if (!(left > most)) continue;
                most = left;
                best = i;
            }
            if (best < 0) break;
            const int n = m->chosen;
            swap_choices(m, nv, n, best);
            *entry(m, n, n) = sqrt(remainder_of(m, nv, n, n));
            m->chosen = n + 1;
            if (class > 1) m->own = n + 1;
        }
    return m->own ? SOA_OK : SOA_E_SINGULAR;
}
/* x = A^-1 x over those chosen. */
static void solve(soai_closed *m, double *x) {
    for (int i = 0; i < m->chosen; ++i) {
        for (int k = 0; k < i; ++k)
            x[i] -= *entry(m, i, k) * x[k];
        x[i] /= *entry(m, i, i);
    }
    for (int i = m->chosen - 1; i >= 0; --i) {
        for (int k = i + 1; k < m->chosen; ++k)
            x[i] -= *entry(m, k, i) * x[k];
        x[i] /= *entry(m, i, i);
    }
}
/* Torques over all coordinates (own ones alone) and accelerations that follow, for those of the
 * coordinates chosen; prepared.  a: wanted on entry, all on return. */
static void accelerate(soa_control *c, double *a, double *torque) {
    soai_closed *m = &c->closed;
    const int nv = c->nv;
    for (int i = 0; i < m->chosen; ++i)
        m->x[i] = a[m->choice[i]] - m->b[m->choice[i]];
    solve(m, m->x);
    memcpy(a, m->b, (size_t)nv * sizeof *a);
    memset(torque, 0, (size_t)nv * sizeof *torque);
    for (int i = 0; i < m->chosen; ++i) {
        if (i < m->own) torque[m->choice[i]] = m->x[i];
        for (int j = 0; j < nv; ++j)
            a[j] += m->r[(size_t)i * (size_t)nv + (size_t)j] * m->x[i];
    }
}
soa_status soai_closed_inverse(soa_control *c, const double *q, const double *v,
                               const soa_wrench *wrenches, int count, double *a, double *torque) {
    const soa_status s = soai_closed_prepare(c, q, v, wrenches, count);
    if (!s) accelerate(c, a, torque);
    return s;
}

/* --- tasks ------------------------------------------------------------------------------------ */
/* Omega_g = J_g M_r^-1 J_g' of the rows in c->rows; J_g stays in m->task, rows x own. */
soa_status soai_closed_compliance(soa_control *c, const double *q, const double *v, int rows,
                                  double *omega) {
    soai_closed *m = &c->closed;
    const int nv = c->nv;
    const soa_status s = soai_closed_prepare(c, q, v, NULL, 0);
    if (s) return s;
    const int own = m->own;
    for (int r = 0; r < rows; ++r) { /* J r, then J r A^-1: its own columns */
        const double *J = c->rows + (size_t)r * (size_t)nv;
        for (int i = 0; i < m->chosen; ++i) {
            m->x[i] = 0;
            for (int j = 0; j < nv; ++j)
                m->x[i] += J[j] * m->r[(size_t)i * (size_t)nv + (size_t)j];
        }
        solve(m, m->x);
        memcpy(m->task + (size_t)r * (size_t)nv, m->x, (size_t)own * sizeof *m->x);
    }
    for (int i = 0; i < own; ++i) { /* M_r, columns of A^-1 */
        for (int k = 0; k < m->chosen; ++k)
            m->x[k] = k == i;
        solve(m, m->x);
        for (int k = 0; k < own; ++k)
            m->inertia[k * own + i] = m->x[k];
    }
    if (!(soai_spd_inverse(own, m->inertia, m->factor, m->inverse) > 0)) return SOA_E_SINGULAR;
    for (int r = 0; r < rows; ++r) {
        const double *a = m->task + (size_t)r * (size_t)nv;
        for (int k = 0; k < own; ++k) {
            m->x[k] = 0;
            for (int i = 0; i < own; ++i)
                m->x[k] += m->inverse[k * own + i] * a[i];
        }
        for (int t = 0; t < rows; ++t) {
            const double *b = m->task + (size_t)t * (size_t)nv;
            omega[rows * r + t] = 0;
            for (int k = 0; k < own; ++k)
                omega[rows * r + t] += b[k] * m->x[k];
        }
    }
    return SOA_OK;
}
/* Torques that give the rows their accelerations under known wrenches; rows, drift and Lambda are
 * prepared. */
soa_status soai_closed_task(soa_control *c, const double *q, const double *v,
                            const soai_task_space *space, const double *wanted,
                            const soa_wrench *wrenches, int count, const double *posture,
                            double *torque, double *a_out) {
    soai_closed *m = &c->closed;
    const int nv = c->nv;
    const int rows = space->rows;
    double right[SOAI_TASK_ROWS];
    double *a = c->x[0];
    soa_status s = free_motion(c, q, v, wrenches, count);
    if (s) return s;
    if (posture) { /* as if it were part of the free motion */
        if ((s = soa_closed_response(m->constraints, c->work, posture, m->spare))) return s;
    } else {
        memset(m->spare, 0, (size_t)nv * sizeof *m->spare);
    }
    memset(a, 0, (size_t)nv * sizeof *a);
    accelerate(c, a, torque); /* a_b: what is driven does not accelerate */
    for (int r = 0; r < rows; ++r) {
        const double *J = c->rows + (size_t)r * (size_t)nv;
        right[r] = wanted[r] - space->drift[r];
        for (int j = 0; j < nv; ++j)
            right[r] -= J[j] * (a[j] + m->spare[j]);
    }
    for (int j = 0; j < nv; ++j)
        m->force[j] = posture ? posture[j] : 0;
    for (int r = 0; r < rows; ++r) {
        double F = 0;
        for (int i = 0; i < rows; ++i)
            F += c->lambda[rows * r + i] * right[i];
        for (int k = 0; k < m->own; ++k)
            m->force[m->choice[k]] += m->task[(size_t)r * (size_t)nv + (size_t)k] * F;
    }
    for (int j = 0; j < nv; ++j)
        torque[j] += m->force[j];
    if (!a_out) return SOA_OK;
    if ((s = soa_closed_response(m->constraints, c->work, m->force, m->spare))) return s;
    for (int j = 0; j < nv; ++j)
        a_out[j] = a[j] + m->spare[j];
    return SOA_OK;
}
