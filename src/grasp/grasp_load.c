/* grasp_load.c  how contacts share a load: grasp map, internal forces, distribution, squeezing;
 *               friction cones.
 *
 *     f(C) = A* f(0) = A* T y              RK88-II (2.9), with what the contacts bear
 * By QR with pivots, (A*T)' P = Q R, the first `rank` columns of Q carry loads and the rest of them
 * squeeze: orthonormal in y, and so in f, for the rows of T are.  O(rows * 6^2), and O(rows^2) for
 * the basis. */
#include "grasp_internal.h"
#include "../spatial/algebra.h"

typedef struct load {
    soa_grasp *g;
    int rank;
    double C[3];
    double *QR; /* rows x 6 */
    double beta[6];
    int pivot[6];
} load;

static soa_status begin(soa_grasp *g, soa_work *w, const double *q, int frame_C, load *s) {
    if (!g || !w || w->model != g->model || frame_C < 0 || frame_C >= g->model->frames)
        return SOA_E_ARGUMENT;
    const int body = SOAI_AT(g->model, soai_frame_row, frame)[frame_C].body;
    for (int i = 0; i < g->count; ++i)
        if (g->list[g->on[i]].body[1] != body) return SOA_E_ARGUMENT;
    soa_frame C;
    soa_status bad = soai_check_state(g->model, q, NULL, NULL, NULL, &w->body);
    if (bad || (bad = soai_grasp_evaluate(g, w, q, NULL, NULL, g->rate, NULL)) ||
        (bad = soa_pose(g->model, w, frame_C, &C)))
        return bad;
    s->g = g;
    s->QR = g->S;
    memcpy(s->C, C.p, sizeof s->C);
    return SOA_OK;
}
/* The wrench at C of a force at contact i, both in world axes. */
static void at_C(const load *s, int i, const double f[6], double out[6]) {
    double l[3];
    for (int j = 0; j < 3; ++j)
        l[j] = s->g->list[s->g->on[i]].p[j] - s->C[j];
    v6_copy(f, out);
    v3_cross_add(l, f + 3, out);
}
static void factor(load *s) {
    soa_grasp *g = s->g;
    int row = 0;
    for (int i = 0; i < g->count; ++i) {
        const contact *k = g->list + g->on[i];
        for (int r = 0; r < k->held; ++r) {
            double f[6];
            rot_mul(k->R, k->T[r], f);
            rot_mul(k->R, k->T[r] + 3, f + 3);
            at_C(s, i, f, s->QR + 6 * row++);
        }
    }
    s->rank = row ? soai_qr(row, 6, s->QR, s->beta, s->pivot, 1e-10) : 0;
}
/* y of the basis, world axes. */
static void to_force(const load *s, double *y, double *f) {
    soai_qr_apply(s->g->rows, 6, s->QR, s->beta, 0, y);
    soai_grasp_forces(s->g, y, f);
    soai_grasp_to_world(s->g, f, f);
}
/* Parts of a force along the basis. */
static soa_status from_force(const load *s, const double *f, double *y) {
    soa_grasp *g = s->g;
    if (!soai_all_finite(f, 6 * (size_t)g->count)) return SOA_E_NOT_FINITE;
    soai_grasp_from_world(g, f, g->force);
    soai_grasp_borne(g, g->force, y);
    if (g->rows) soai_qr_apply(g->rows, 6, s->QR, s->beta, 1, y);
    return SOA_OK;
}

static soa_status grasp_map(soa_grasp *g, soa_work *w, const double *q, int frame_C, double *map) {
    load s;
    const soa_status bad = map ? begin(g, w, q, frame_C, &s) : SOA_E_ARGUMENT;
    if (bad) return bad;
    const int n = 6 * g->count;
    for (int c = 0; c < n; ++c) {
        double unit[6] = {0}, x[6];
        unit[c % 6] = 1;
        at_C(&s, c / 6, unit, x);
        for (int r = 0; r < 6; ++r)
            map[n * r + c] = x[r];
    }
    return SOA_OK;
}
soa_status soa_grasp_map(soa_grasp *g, soa_work *w, const double *q, int frame_C, double *map) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_map(g, w, q, frame_C, map));
}

static soa_status grasp_internal(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                 double *basis, int *count, int *rank) {
    load s;
    const soa_status bad = count ? begin(g, w, q, frame_C, &s) : SOA_E_ARGUMENT;
    if (bad) return bad;
    factor(&s);
    *count = g->rows - s.rank;
    if (rank) *rank = s.rank;
    for (int e = 0; basis && e < *count; ++e) {
        for (int r = 0; r < g->rows; ++r)
            g->y[r] = r == s.rank + e;
        to_force(&s, g->y, basis + 6 * g->count * e);
    }
    return SOA_OK;
}
soa_status soa_grasp_internal_basis(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                    double *basis, int *count, int *rank) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_internal(g, w, q, frame_C, basis, count, rank));
}

static soa_status grasp_distribute(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                   const double wrench[6], const double *squeeze, double *force) {
    load s;
    soa_status bad = wrench && force ? begin(g, w, q, frame_C, &s) : SOA_E_ARGUMENT;
    if (bad) return bad;
    if (!soai_all_finite(wrench, 6)) return SOA_E_NOT_FINITE;
    factor(&s);
    double *y = g->y, most = 0;
    if (squeeze && (bad = from_force(&s, squeeze, y))) return bad;
    for (int r = s.rank; !squeeze && r < g->rows; ++r)
        y[r] = 0;
    for (int j = 0; j < 6; ++j)
        most = fmax(most, fabs(wrench[j]));
    for (int k = 0; k < 6; ++k) { /* R'y = P'wrench */
        double x = wrench[g->rows ? s.pivot[k] : k];
        for (int i = 0; i < k && i < s.rank; ++i)
            x -= s.QR[6 * i + k] * y[i];
        if (k < s.rank)
            y[k] = x / s.QR[6 * k + k];
        else if (!(fabs(x) <= 1e-9 * most))
            return SOA_E_INCONSISTENT; /* no force that the contacts bear gives this */
    }
    to_force(&s, y, force);
    return SOA_OK;
}
soa_status soa_grasp_distribute(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                const double wrench[6], const double *squeeze, double *force) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_distribute(g, w, q, frame_C, wrench, squeeze, force));
}

static soa_status grasp_squeeze(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                const double *force, double *squeeze) {
    load s;
    soa_status bad = force && squeeze ? begin(g, w, q, frame_C, &s) : SOA_E_ARGUMENT;
    if (bad) return bad;
    factor(&s);
    if ((bad = from_force(&s, force, g->y))) return bad;
    for (int r = 0; r < s.rank; ++r)
        g->y[r] = 0;
    to_force(&s, g->y, squeeze);
    return SOA_OK;
}
soa_status soa_grasp_internal_force(soa_grasp *g, soa_work *w, const double *q, int frame_C,
                                    const double *force, double *squeeze) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_squeeze(g, w, q, frame_C, force, squeeze));
}

static soa_contact_check check(const contact *k, const double f[6]) {
    const soa_contact_def *d = &k->def;
    soa_contact_check c = {.normal = f[5],
                           .tangential = hypot(f[3], f[4]),
                           .torsion = f[2],
                           .tilt = hypot(f[0], f[1])};
    c.margin = INFINITY;
    if (!d->one_sided) return c;
    /* the normal force that friction, and the patch, ask for; 0/0 is nothing asked */
    const double across = c.tangential > 0 ? c.tangential / d->friction : 0;
    const double about = c.torsion != 0 ? fabs(c.torsion) / d->torsion : 0;
    const double grip = c.normal - hypot(across, about),
                 tip = c.normal - (c.tilt > 0 ? c.tilt / d->patch : 0);
    c.margin = fmin(c.normal, fmin(grip, tip));
    if (!(c.normal > 0)) {
        c.event = SOA_CONTACT_BREAKS;
    } else if (!(grip >= 0)) {
        c.event = SOA_CONTACT_SLIPS;
    } else if (!(tip >= 0)) {
        c.event = SOA_CONTACT_TIPS;
    } else {
        c.event = SOA_CONTACT_HOLDS;
    }
    return c;
}
static soa_status grasp_check(soa_grasp *g, soa_work *w, const double *q, const double *force,
                              soa_contact_check *checks, int *broken) {
    if (!g || !w || w->model != g->model || !force || !checks) return SOA_E_ARGUMENT;
    if (!soai_all_finite(force, 6 * (size_t)g->count)) return SOA_E_NOT_FINITE;
    soa_status s = soai_check_state(g->model, q, NULL, NULL, NULL, &w->body);
    if (s || (s = soai_grasp_evaluate(g, w, q, NULL, NULL, g->rate, NULL))) return s;
    soai_grasp_from_world(g, force, g->force);
    if (broken) *broken = 0;
    for (int i = 0; i < g->count; ++i) {
        checks[i] = check(g->list + g->on[i], g->force + 6 * i);
        if (broken) *broken += checks[i].event != SOA_CONTACT_HOLDS;
    }
    return SOA_OK;
}
soa_status soa_grasp_check_contacts(soa_grasp *g, soa_work *w, const double *q, const double *force,
                                    soa_contact_check *checks, int *broken) {
    const unsigned before = soai_work_taken(w);
    return soai_work_keep(w, before, grasp_check(g, w, q, force, checks, broken));
}
