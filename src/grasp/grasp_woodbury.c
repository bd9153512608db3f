/* grasp_woodbury.c  contact forces in O(contacts) when no arm is singular: RJK91 section 6.
 *
 *     Omega = diag(Lambda_i) + K K',     K_i = [A_i C, B_i]
 * Lambda_i is arm i's own compliance at its end.  A_i C: all contacts are on one body of the
 * object, whose compliance Delta = C C' reaches contact i through A_i.  B_i: where arms branch off
 * one body b (a floating base), the papers' block diagonal (6.8) is lost, but Omega(i, j) =
 * Omega(i, b) Delta(b)^+ Omega(b, j), of rank 6 again: B_i is Omega(i, b) C(b)^+'.  With Pi_i = T_i
 * (T_i'Lambda_i T_i)^-1 T_i' and (I + K'Pi K) x = K'Pi r,
 *     f = -Pi (r - K x),      one solve of 6 or 12. */
#include "grasp_internal.h"
#include "../spatial/algebra.h"

/* D = C C' (6 x 6): C = U s^1/2 and C^+' = U s^-1/2 by eigenvectors, the columns of size zero left
 * out; gives their number. */
static int root_of(const double D[36], double C[36], double Cinv[36]) {
    double U[36], V[36], s[6];
    memcpy(U, D, sizeof U);
    soai_svd(6, 6, U, s, V);
    int rank = 0;
    while (rank < 6 && s[rank] > 1e-13 * s[0])
        ++rank;
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            C[6 * r + c] = c < rank ? V[6 * r + c] * sqrt(s[c]) : 0;
            Cinv[6 * r + c] = c < rank ? V[6 * r + c] / sqrt(s[c]) : 0;
        }
    return rank;
}
/* out = phi' X phi, X the compliance of a body at its origin, phi to the contact. */
static void to_contact(const soa_frame *at, const double X[36], size_t width, double out[36]) {
    for (int c = 0; c < 6; ++c) {
        const double unit[6] = {c == 0, c == 1, c == 2, c == 3, c == 4, c == 5};
        double f[6], m[6] = {0}, x[6];
        soa_frame_force_to_parent(at, unit, f);
        for (int r = 0; r < 6; ++r)
            for (int k = 0; k < 6; ++k)
                m[r] += X[width * (size_t)r + (size_t)k] * f[k];
        soa_frame_motion_to_child(at, m, x);
        for (int r = 0; r < 6; ++r)
            out[6 * r + c] = x[r];
    }
}
static void diagonal(const contact *k, const double L[36], double *out) { /* of T'L T */
    for (int r = 0; r < k->held; ++r) {
        out[r] = 0;
        for (int j = 0; j < 6; ++j)
            out[r] += k->T[r][j] * v6_dot(L + 6 * j, k->T[r]);
    }
}
/* Body where the arms' paths meet, 0: nowhere; -1: in several places, or an arm's tree is the
 * object's. */
static int junction(const soa_grasp *g, int object) {
    const soai_body_double *body = soai_bodies(g->model);
    int meets = 0, root = object;
    while (body[root].parent)
        root = body[root].parent;
    for (int i = 0; i < g->count; ++i)
        for (int b = g->list[g->on[i]].body[0]; b && g->visits[b]++ == 0; b = body[b].parent)
            if (b == root) meets = -1;
    for (int i = 0; i < g->count; ++i) { /* the first body on its path that another passes too */
        int b = g->list[g->on[i]].body[0];
        while (b && g->visits[b] == 1)
            b = body[b].parent;
        if (!b) continue;
        meets = meets == 0 || meets == b ? b : -1;
    }
    for (int i = 0; i < g->count; ++i)
        for (int b = g->list[g->on[i]].body[0]; b && g->visits[b]; b = body[b].parent)
            g->visits[b] = 0;
    return meets;
}

soa_status soai_woodbury_prepare(soa_grasp *g, soa_work *w, double tolerance, double *condition) {
    woodbury *s = &g->sum;
    const soa_model *m = g->model;
    *condition = 1;
    s->shared = 0;
    if (!g->count) return SOA_OK;
    const contact *first = g->list + g->on[0];
    const int object = first->body[1];
    for (int i = 0; i < g->count; ++i)
        if (g->list[g->on[i]].body[1] != object || !g->list[g->on[i]].body[0])
            return SOA_E_ARGUMENT;
    const int base = junction(g, object);
    if (base < 0) return SOA_E_ARGUMENT;
    const int base_frame = base ? soai_metas(m)[base].frame : 0;
    double D[36], C[36], C_base[36], none[36];
    int of_object = 0, of_base = 0; /* columns of K */
    if (object) {
        soai_compliance(w, &first->frame[1], 1, SOA_AXES_BODY, D);
        of_object = root_of(D, C, none);
    }
    if (base) {
        soai_compliance(w, &base_frame, 1, SOA_AXES_BODY, D);
        of_base = root_of(D, none, C_base);
    }
    s->shared = of_object + of_base;
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        double O[144], S[36], factor[36], inverse[36],
            *L = s->Lambda + 36 * i, *Pi = s->Pi + 36 * i, *K = s->K + 6 * MOST_SHARED * i;
        const int frames[2] = {k->frame[0], base_frame}, sides = base ? 2 : 1;
        soai_compliance(w, frames, sides, SOA_AXES_BODY, O);
        const size_t n = 6 * (size_t)sides;
        double size[6], floor[6], before[6], lost = 1;
        to_contact(&k->at[0], O, n, L);
        diagonal(k, L, before);
        soai_grasp_floor(k, w, L, 6, floor);
        for (int c = 0; c < of_object; ++c) { /* A_i C */
            double column[6], x[6];
            for (int r = 0; r < 6; ++r)
                column[r] = C[6 * r + c];
            soa_frame_motion_to_child(&k->at[1], column, x);
            for (int r = 0; r < 6; ++r)
                K[MOST_SHARED * r + c] = x[r];
        }
        for (int c = 0; c < of_base; ++c) { /* B_i */
            double column[6] = {0}, x[6];
            for (int r = 0; r < 6; ++r)
                for (int j = 0; j < 6; ++j)
                    column[r] += O[12 * r + 6 + j] * C_base[6 * j + c];
            soa_frame_motion_to_child(&k->at[0], column, x);
            for (int r = 0; r < 6; ++r)
                K[MOST_SHARED * r + of_object + c] = x[r];
            for (int r = 0; r < 6; ++r) /* Lambda_i: the arm on a base held still */
                for (int j = 0; j < 6; ++j)
                    L[6 * r + j] -= x[r] * x[j];
        }
        for (int r = 0; r < k->held; ++r) /* T'Lambda T */
            for (int c = 0; c < k->held; ++c) {
                S[k->held * r + c] = 0;
                for (int j = 0; j < 6; ++j)
                    S[k->held * r + c] += k->T[r][j] * v6_dot(L + 6 * j, k->T[c]);
            }
        for (int r = 0; r < k->held; ++r) {
            if (!(S[k->held * r + r] > 1e2 * floor[r])) return SOA_E_SINGULAR;
            size[r] = 1 / sqrt(S[k->held * r + r]);
            lost = fmax(lost, before[r] / S[k->held * r + r]); /* by subtracting the base's part */
        }
        for (int r = 0; r < k->held; ++r)
            for (int c = 0; c < k->held; ++c)
                S[k->held * r + c] *= size[r] * size[c];
        const double rcond = (k->held ? soai_spd_inverse(k->held, S, factor, inverse) : 1) / lost;
        if (!(rcond > tolerance)) return SOA_E_SINGULAR;
        *condition = fmax(*condition, 1 / rcond);
        for (int r = 0; r < 36; ++r)
            Pi[r] = 0;
        for (int r = 0; r < k->held; ++r)
            for (int c = 0; c < k->held; ++c)
                for (int j = 0; j < 36; ++j)
                    Pi[j] += k->T[r][j / 6] * size[r] * inverse[k->held * r + c] * size[c] *
                             k->T[c][j % 6];
    }
    const int n = s->shared;
    double core[MOST_SHARED * MOST_SHARED], factor[MOST_SHARED * MOST_SHARED];
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            core[n * r + c] = r == c;
    for (int i = 0; i < g->count; ++i)
        for (int c = 0; c < n; ++c) {
            const double *Pi = s->Pi + 36 * i, *K = s->K + 6 * MOST_SHARED * i;
            double x[6] = {0};
            for (int r = 0; r < 6; ++r)
                for (int j = 0; j < 6; ++j)
                    x[r] += Pi[6 * r + j] * K[MOST_SHARED * j + c];
            for (int r = 0; r < n; ++r)
                for (int j = 0; j < 6; ++j)
                    core[n * r + c] += K[MOST_SHARED * j + r] * x[j];
        }
    return n && !(soai_spd_inverse(n, core, factor, s->core) > 0) ? SOA_E_SINGULAR : SOA_OK;
}

/* f -= Pi (r - K (I + K'Pi K)^-1 K'Pi r) */
static void step(const soa_grasp *g, const double *r, double *f) {
    const woodbury *s = &g->sum;
    const int n = s->shared;
    double b[MOST_SHARED] = {0}, x[MOST_SHARED] = {0};
    for (int i = 0; i < g->count; ++i) {
        const double *Pi = s->Pi + 36 * i, *K = s->K + 6 * MOST_SHARED * i;
        for (int j = 0; j < 6; ++j) {
            const double y = v6_dot(Pi + 6 * j, r + 6 * i);
            for (int c = 0; c < n; ++c)
                b[c] += K[MOST_SHARED * j + c] * y;
        }
    }
    for (int c = 0; c < n; ++c)
        for (int j = 0; j < n; ++j)
            x[c] += s->core[n * c + j] * b[j];
    for (int i = 0; i < g->count; ++i) {
        const double *Pi = s->Pi + 36 * i, *K = s->K + 6 * MOST_SHARED * i;
        double y[6];
        for (int j = 0; j < 6; ++j) {
            y[j] = r[6 * i + j];
            for (int c = 0; c < n; ++c)
                y[j] -= K[MOST_SHARED * j + c] * x[c];
        }
        for (int j = 0; j < 6; ++j)
            f[6 * i + j] -= v6_dot(Pi + 6 * j, y);
    }
}
/* Where arms are stiff beside the object the formula cancels; refinement by the residual Omega f +
 * right makes up for it. */
int soai_woodbury_solve(const soa_grasp *g, const double *right, double *f) {
    const woodbury *s = &g->sum;
    double *rest = g->part, before = INFINITY;
    for (int j = 0; j < 6 * g->count; ++j)
        f[j] = 0;
    for (int pass = 0; pass < 12; ++pass) {
        double b[MOST_SHARED] = {0}, now = 0, size = 0;
        for (int i = 0; i < g->count; ++i)
            for (int j = 0; j < 6; ++j)
                for (int c = 0; c < s->shared; ++c)
                    b[c] += s->K[6 * MOST_SHARED * i + MOST_SHARED * j + c] * f[6 * i + j];
        for (int i = 0; i < g->count; ++i)
            for (int j = 0; j < 6; ++j) {
                const double own = v6_dot(s->Lambda + 36 * i + 6 * j, f + 6 * i);
                double x = right[6 * i + j] + own;
                for (int c = 0; c < s->shared; ++c)
                    x += s->K[6 * MOST_SHARED * i + MOST_SHARED * j + c] * b[c];
                rest[6 * i + j] = x;
                size = fmax(size, fabs(right[6 * i + j]) + fabs(own));
            }
        for (int i = 0; i < g->count; ++i)
            for (int r = 0; r < g->list[g->on[i]].held; ++r)
                now = fmax(now, fabs(v6_dot(g->list[g->on[i]].T[r], rest + 6 * i)));
        if (pass && !(now > 1e-15 * size)) return 1;
        /* nothing more to be gained */
        if (pass > 1 && !(now < before / 2)) return now <= 1e-12 * size;
        before = now;
        step(g, rest, f);
    }
    return 0;
}
