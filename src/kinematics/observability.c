/* observability.c  redundancy as observability, which R87 section XIV announces: the Gramians of a
 *                  chain, and what a tip can and cannot do, read from their factor.
 *
 * R87 (52) is a system with the force x as its state; joint torques H x are its outputs, base last.
 * For a force that enters at the tip, f(0), they are J* f(0):
 *     observability    O(k) = sum over k and inboard of phi* H* H phi
 *                           = phi* O(parent) phi + H* H                           base to tips
 *                      how well the torques from k inward show a force on body k; J J* of body k
 *     controllability  C(k) = phi C(child) phi*,  C(tip) = B W^2 B*               tip to base
 *                      how a force at the tip arrives at body k
 * A force with O f = 0 is not observed: the bearings hold it, and (duality) the tip cannot move in
 * its direction.  A joint motion in the null space of J* J moves the joints and not the tip.
 * Both are read from J = U S V', by rotations of the rows of J (one-sided Jacobi): the Gramian has
 * the squares of the singular values and would lose those below 1e-8 of the largest.
 * The eigenvalues of O(k) C(k) are the squares of the singular values of the tip's J with the joints
 * outboard of k locked. */
#include "../base/base_internal.h"
#include "../base/small_algebra.h"
#include "../dynamics/work.h"
#include "../spatial/six_by_six.h"
#include "soa/forms.h"

/* A singular value below this part of the largest is rounding error. */
#define RANK_TOLERANCE 1e-10
/* Rows are orthogonal if the cosine of their angle is below this, times the root of their length:
 * the rounding of a product. */
#define ORTHOGONAL 1e-15
/* A product below this part of the largest square comes from rows that are rounding error. */
#define NOTHING 1e-32
enum { MOST_SWEEPS = 60 };
#define MOST_WEIGHT 1e6 /* as for other tips, jacobian_products.c */

static soa_status check_tip(const soa_model *m, soa_work *w, const soa_tip *tip) {
    if (!tip || tip->frame < 0 || tip->frame >= m->frames) return SOA_E_ARGUMENT;
    const double weights[2] = {tip->angular, tip->linear};
    if (!soai_all_finite(weights, 2)) {
        w->body = SOAI_AT(m, soai_frame_row, frame)[tip->frame].body;
        return SOA_E_NOT_FINITE;
    }
    for (int i = 0; i < 2; ++i)
        if (!(weights[i] >= 0 && weights[i] <= MOST_WEIGHT)) return SOA_E_ARGUMENT;
    return SOA_OK;
}

/* --- the Gramians ----------------------------------------------------------------------------- */
/* phi* A phi */
static void outward(const double phi[36], const double A[36], double out[36]) {
    double T[36];
    for (int r = 0; r < 6; ++r) /* rows of A phi */
        six_tmul(phi, A + 6 * r, T + 6 * r);
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            out[6 * r + c] = 0;
            for (int j = 0; j < 6; ++j)
                out[6 * r + c] += phi[6 * j + r] * T[6 * j + c];
        }
}
static void observability(const soa_work *w, double *O) {
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        double *own = O + 36 * (size_t)(i - 1), phi[36];
        memset(own, 0, 36 * sizeof *own);
        if (b->parent) {
            six_phi(w->w.b[i].R, w->w.b[i].p, phi);
            outward(phi, O + 36 * (size_t)(b->parent - 1), own);
        }
        for (int c = 0; c < b->nv; ++c) {
            const int varies = b->type == SOA_UNIVERSAL || b->type == SOA_PLANAR;
            const double *H = varies ? w->w.H + 6 * (b->iv + c) : k->dof[b->iv + c].H;
            for (int j = 0; j < 36; ++j)
                own[j] += H[j / 6] * H[j % 6];
        }
        six_mirror(own);
    }
}
static void controllability(const soa_model *m, const soa_work *w, const soa_tip *tip, double *C) {
    const soai_view_double *k = &w->view;
    const soai_frame_row *row = SOAI_AT(m, soai_frame_row, frame) + tip->frame;
    double B[36];
    memset(C, 0, 36 * (size_t)k->nb * sizeof *C);
    if (!row->body) return;
    six_phi(row->R, row->p, B);
    for (int j = 0; j < 36; ++j)
        B[j] *= j % 6 < 3 ? tip->angular : tip->linear;
    for (int i = row->body; i; i = k->body[i].parent) { /* B <- phi B: full rank to the base */
        double phi[36], next[36];
        double *own = C + 36 * (size_t)(i - 1);
        six_six_t(B, B, own);
        six_mirror(own);
        six_phi(w->w.b[i].R, w->w.b[i].p, phi);
        six_six(phi, B, next);
        memcpy(B, next, sizeof B);
    }
}
soa_status soa_observability_gramians(const soa_model *m, soa_work *w, const double *q,
                                      const soa_tip *tip, double *O, double *C) {
    if (!m || !w || w->model != m) return SOA_E_ARGUMENT;
    if (m->nm) return SOA_E_MIMIC;
    soa_status s = C ? check_tip(m, w, tip) : SOA_OK;
    if (s) return s;
    const unsigned before = soai_work_taken(w);
    if ((s = soa_kinematics(m, w, q, NULL, NULL))) return s;
    if (O) observability(w, O);
    if (C) controllability(m, w, tip, C);
    return soai_work_keep(w, before, SOA_OK);
}

/* --- J = U S V' ------------------------------------------------------------------------------- */
/* Turns rows p and q of J (nv numbers each) so that they are orthogonal, and rows p and q of U with
 * them.  most: the largest square of a row.  false: they were orthogonal. */
static bool rotate_rows(int nv, double *J, double *U, int p, int q, double most) {
    double *x = J + (size_t)nv * (size_t)p, *y = J + (size_t)nv * (size_t)q;
    const double a = soai_dot(nv, x, x), b = soai_dot(nv, y, y), c = soai_dot(nv, x, y);
    if (!(fabs(c) > ORTHOGONAL * sqrt((double)nv) * sqrt(a) * sqrt(b))) return false;
    if (!(fabs(c) > NOTHING * most)) return false;
    const double zeta = (b - a) / (2 * c);
    const double t = (zeta > 0 ? 1 : -1) / (fabs(zeta) + hypot(1, zeta));
    const double cs = 1 / hypot(1, t), sn = cs * t;
    for (int j = 0; j < nv; ++j) {
        const double keep = x[j];
        x[j] = cs * keep - sn * y[j];
        y[j] = sn * keep + cs * y[j];
    }
    for (int j = 0; j < 6; ++j) {
        const double keep = U[6 * p + j];
        U[6 * p + j] = cs * keep - sn * U[6 * q + j];
        U[6 * q + j] = sn * keep + cs * U[6 * q + j];
    }
    return true;
}
static void swap_numbers(double *x, double *y, int n) {
    for (int j = 0; j < n; ++j) {
        const double keep = x[j];
        x[j] = y[j];
        y[j] = keep;
    }
}
/* J (6 x nv) becomes S V'; rows of U are the directions.  false: rows do not settle. */
static bool decompose(int nv, double *J, soa_observability_result *out) {
    bool settled = false;
    double most = 0;
    for (int i = 0; i < 6; ++i) {
        const double *x = J + (size_t)nv * (size_t)i;
        const double square = soai_dot(nv, x, x);
        if (square > most) most = square;
    }
    for (int j = 0; j < 36; ++j)
        out->directions[j] = j % 7 == 0;
    for (int sweep = 0; sweep < MOST_SWEEPS && !settled; ++sweep) {
        settled = true;
        for (int p = 0; p < 6; ++p)
            for (int q = p + 1; q < 6; ++q)
                if (rotate_rows(nv, J, out->directions, p, q, most)) settled = false;
    }
    for (int i = 0; i < 6; ++i)
        out->singular[i] =
            sqrt(soai_dot(nv, J + (size_t)nv * (size_t)i, J + (size_t)nv * (size_t)i));
    for (int i = 0; i < 6; ++i) {
        int best = i;
        for (int j = i + 1; j < 6; ++j)
            if (out->singular[j] > out->singular[best]) best = j;
        if (best == i) continue;
        swap_numbers(out->singular + i, out->singular + best, 1);
        swap_numbers(out->directions + 6 * i, out->directions + 6 * best, 6);
        swap_numbers(J + (size_t)nv * (size_t)i, J + (size_t)nv * (size_t)best, nv);
    }
    return settled;
}
/* x <- (1 - 2 u u') x from entry `first` on, u of length 1 */
static void reflect(int nv, int first, const double *u, double *x) {
    const double t = 2 * soai_dot(nv - first, u + first, x + first);
    for (int j = first; j < nv; ++j)
        x[j] -= t * u[j];
}
/* Orthonormal rows that complete the `rank` orthonormal rows of V: Householder reflections that
 * take V to the first unit vectors take the other unit vectors back.  u: room for rank rows. */
static void complement(int nv, int rank, const double *V, double *u, double *out) {
    for (int i = 0; i < rank; ++i) {
        double *x = u + (size_t)nv * (size_t)i;
        memcpy(x, V + (size_t)nv * (size_t)i, (size_t)nv * sizeof *x);
        for (int j = 0; j < i; ++j)
            reflect(nv, j, u + (size_t)nv * (size_t)j, x);
        const double size = sqrt(soai_dot(nv - i, x + i, x + i));
        x[i] += x[i] < 0 ? -size : size;
        const double length = sqrt(soai_dot(nv - i, x + i, x + i));
        for (int j = 0; j < nv; ++j)
            x[j] = j < i ? 0 : x[j] / length;
    }
    for (int c = rank; c < nv; ++c) {
        double *x = out + (size_t)nv * (size_t)(c - rank);
        memset(x, 0, (size_t)nv * sizeof *x);
        x[c] = 1;
        for (int i = rank - 1; i >= 0; --i)
            reflect(nv, i, u + (size_t)nv * (size_t)i, x);
    }
}
soa_status soa_observability(const soa_model *m, soa_work *w, const double *q, const soa_tip *tip,
                             soa_axes axes, soa_observability_result *out, double *joints,
                             double *redundant) {
    if (!m || !w || w->model != m || !out || !joints || !soai_is_axes(axes)) return SOA_E_ARGUMENT;
    soa_status s = check_tip(m, w, tip);
    if (s) return s;
    const unsigned before = soai_work_taken(w);
    const int nv = m->nv;
    const size_t row = (size_t)nv;
    if ((s = soa_kinematics(m, w, q, NULL, NULL))) return s;
    for (int r = 0; r < 6; ++r) { /* J, weighted */
        double unit[6] = {0};
        unit[r] = r < 3 ? tip->angular : tip->linear;
        soa_jacobian_transpose_mul(m, w, tip->frame, axes, unit, joints + row * (size_t)r);
    }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c)
            out->gramian[6 * r + c] =
                soai_dot(nv, joints + row * (size_t)r, joints + row * (size_t)c);
    if (!decompose(nv, joints, out)) return soai_work_keep(w, before, SOA_E_NO_CONVERGENCE);
    out->rank = 0;
    for (int i = 0; i < 6; ++i) {
        const bool counts =
            out->singular[i] > 0 && out->singular[i] > RANK_TOLERANCE * out->singular[0];
        out->rank += counts;
        for (int j = 0; j < nv; ++j)
            joints[row * (size_t)i + (size_t)j] =
                counts ? joints[row * (size_t)i + (size_t)j] / out->singular[i] : 0;
    }
    out->redundant = nv - out->rank;
    if (redundant) complement(nv, out->rank, joints, w->wide, redundant);
    return soai_work_keep(w, before, SOA_OK);
}
