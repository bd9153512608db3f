/* estimator.c  forces and accelerations from noisy joint torques and joint accelerations, by R87's
 *              filter and smoother with two states instead of one.
 *
 * What is known, exactly or with a variance: joint torques y (R), joint accelerations (A), and
 * wrenches on bodies (Q).  The most probable motion makes
 *     1/2 sum |wrench - mean|^2 / Q + 1/2 sum |a - measured|^2 / A + 1/2 sum |y - true|^2 / R
 * stationary under R87 (16) to (20).  Their multipliers mu obey the same equations as spatial
 * accelerations, with joint values theta in the place of joint accelerations:
 *     lambda- = phi* lambda-(parent) + H* delta,        mu- = phi* mu-(parent) + H* theta
 * (lambda and delta: differences from the motion as measured).  So the sweep solution R87 (34) holds
 * for both together, in vectors of 12,
 *     [eta; x] = s + S [lambda; mu],      S = [Lambda P*; P -Sigma]
 * with, for the part of the tree outboard of a joint,
 *     P       its articulated inertia, as far as accelerations are unknown     R87 (37), (43)
 *     Sigma   covariance of the force through the joint, the acceleration being given
 *     Lambda  what the measurements there tell of the acceleration
 * and R87 (36) to (47), (81), (82) follow word for word:
 *     U = S H*      K = H S H* + [1/A J; J -R]      G = U K^-1      g = H s - [0; y]
 *     S+ = S - U G*      s+ = s - G g      [delta; theta] = -K^-1 g - G* l+
 *     Omega- = (1 - G H)* Omega+ (1 - G H) + H* K^-1 H
 * (J: reflected rotor inertia; H here diag(H, H), l = [lambda; mu]).  Omega is the inverse of the
 * whole problem's matrix at this body: its block of lambda is a covariance, that of mu is minus
 * one, R87's -Delta.  docs/theory/estimation.md.
 *     wrench = mean + Q mu      covariance Q + Q Omega_mu Q            R87 (65)
 * A unknown, Q = 0, R = 0: P, theta = 0: soa_aba.  A = 0, Q = M: Sigma is R87's P and
 * -theta the acceleration: soa_smoother.  O(n). */
#include "estimation_internal.h"
#include "../base/base_internal.h"
#include "../base/small_algebra.h"

#include <stdlib.h>

/* Below this part of what it was before other measurements, a variance is rounding error. */
#define EXHAUSTED 1e-12
/* Smallest pivot of a joint's equations whose rows and columns have been scaled to 1. */
#define LEAST_PIVOT 1e-13
/* A joint that moves less than this part of its body's articulated inertia moves nothing. */
#define LEAST_INERTIA 1e-14
/* Rounding error that a covariance given by the caller may have. */
#define SYMMETRY 1e-9

enum { MOST_NV = 6, BOTH = 2 * MOST_NV };

typedef struct body_estimate {
    double S[144], s[12];   /* gathered from the children, with the body's own Q and M */
    double Omega[144];      /* Omega- */
    double l[12];           /* lambda- and mu- */
    double Q[36];           /* covariance of the wrench on the body */
    double prior[36];       /* of the force through the joint, before any measurement */
    double wrench[6];       /* known wrenches, and means of the unknown ones */
    double lambda[6], x[6]; /* of the motion as measured */
    double R[9], p[3];      /* body in its parent */
    double Rw[9];           /* body in the world */
    double H[36];           /* nv x 6 */
    double rotor[3];        /* couple on the carrier, in its axes, per unit of acceleration */
} body_estimate;

struct soa_estimator {
    const soa_model *model;
    body_estimate *body; /* 0 to nb; 0 is the world */
    double *U;           /* 24 per degree of freedom: columns of U, those of delta first */
    double *K, *W;       /* 4 nv^2 per body: H S H* + [0 J; J 0], and K^-1 of the head */
    double *C;           /* nv^2 per body: covariance of the innovation */
    double *g;           /* 2 per degree of freedom */
    double *joint;       /* 2 per degree of freedom: delta, theta */
    double *a;           /* measured accelerations, 0 where not measured */
    double *y;           /* measured torque minus that of the motion as measured */
    double *tau;         /* torque of the motion as measured, with friction and springs */
    double *innovation;
    double *a_variance, *tau_variance;
    int failed_body;
    bool ready;
};

/* --- memory ----------------------------------------------------------------------------------- */
static size_t layout(const soa_model *m, char *memory) {
    soa_estimator none, *e = memory ? (soa_estimator *)(void *)memory : &none;
    const size_t nv = (size_t)m->tv * sizeof(double), nd = (size_t)m->nd * sizeof(double);
    size_t at = 0;
    soai_take(memory, &at, sizeof *e);
    e->body = soai_take(memory, &at, ((size_t)m->nb + 1) * sizeof *e->body);
    e->U = soai_take(memory, &at, 24 * nv);
    e->K = soai_take(memory, &at, 4 * nd);
    e->W = soai_take(memory, &at, 4 * nd);
    e->C = soai_take(memory, &at, nd);
    e->g = soai_take(memory, &at, 2 * nv);
    e->joint = soai_take(memory, &at, 2 * nv);
    e->a = soai_take(memory, &at, nv);
    e->y = soai_take(memory, &at, nv);
    e->tau = soai_take(memory, &at, nv);
    e->innovation = soai_take(memory, &at, nv);
    e->a_variance = soai_take(memory, &at, nv);
    e->tau_variance = soai_take(memory, &at, nv);
    e->model = m;
    e->failed_body = -1;
    e->ready = false;
    return at;
}
size_t soa_estimator_size(const soa_model *model) {
    return model ? layout(model, NULL) : 0;
}
soa_status soa_estimator_init(const soa_model *model, void *memory, size_t size,
                              soa_estimator **estimator) {
    if (!model || !estimator) return SOA_E_ARGUMENT;
    if (!memory || (uintptr_t)memory % SOAI_ALIGN || size < layout(model, NULL))
        return SOA_E_MEMORY;
    if (model->nm) return SOA_E_MIMIC;
    layout(model, memory);
    *estimator = memory;
    return SOA_OK;
}
soa_status soa_estimator_create(const soa_model *model, soa_estimator **estimator) {
    if (!model || !estimator) return SOA_E_ARGUMENT;
    if (model->nm) return SOA_E_MIMIC;
    const size_t size = (layout(model, NULL) + SOAI_ALIGN - 1) / SOAI_ALIGN * SOAI_ALIGN;
    void *memory = aligned_alloc(SOAI_ALIGN, size);
    if (!memory) return SOA_E_MEMORY;
    return soa_estimator_init(model, memory, size, estimator);
}
void soa_estimator_free(soa_estimator *estimator) {
    free(estimator);
}
int soa_estimator_failed_body(const soa_estimator *estimator) {
    return estimator ? estimator->failed_body : -1;
}

/* --- what the caller gives -------------------------------------------------------------------- */
/* Symmetric, and no negative pivot beyond rounding error: Cholesky with the largest pivot first, of
 * the matrix scaled to a unit diagonal. */
static bool is_covariance(const double C[36]) {
    double L[36], scale[6];
    bool done[6];
    for (int i = 0; i < 6; ++i) {
        if (!(C[7 * i] >= 0)) return false;
        scale[i] = C[7 * i] > 0 ? 1 / sqrt(C[7 * i]) : 0;
        done[i] = !(C[7 * i] > 0);
    }
    for (int i = 0; i < 36; ++i) {
        const int r = i / 6, c = i % 6;
        L[i] = C[i] * scale[r] * scale[c];
        if ((done[r] || done[c]) && C[i] != 0) return false;
        if (!(fabs(C[i] - C[6 * c + r]) * scale[r] * scale[c] <= SYMMETRY)) return false;
    }
    for (int step = 0; step < 6; ++step) {
        int best = -1;
        for (int i = 0; i < 6; ++i)
            if (!done[i] && (best < 0 || L[7 * i] > L[7 * best])) best = i;
        if (best < 0) return true;
        if (!(L[7 * best] > SYMMETRY)) break;
        done[best] = true;
        for (int i = 0; i < 6; ++i)
            for (int j = 0; !done[i] && j < 6; ++j)
                if (!done[j]) L[6 * i + j] -= L[6 * i + best] * L[6 * best + j] / L[7 * best];
    }
    for (int i = 0; i < 36; ++i) /* the rest must be rounding error */
        if (!done[i / 6] && !done[i % 6] && !(fabs(L[i]) <= 2 * SYMMETRY)) return false;
    return true;
}
static int joint_body(const soa_model *m, int v) {
    const soai_body_double *b = soai_bodies(m);
    for (int i = 1; i <= m->nb; ++i)
        if (v >= b[i].iv && v < b[i].iv + b[i].nv) return i;
    return -1;
}
/* Variances are 0 to infinity, not NaN. */
static soa_status check_variance(soa_estimator *e, const double *variance) {
    for (int j = 0; variance && j < e->model->nv; ++j)
        if (!(variance[j] >= 0)) {
            e->failed_body = joint_body(e->model, j);
            return SOA_E_ARGUMENT;
        }
    return SOA_OK;
}
static soa_status check_unknown(const soa_model *m, const soa_unknown_wrench *u, int *body) {
    if (u->frame < 0 || u->frame >= m->frames || !soai_is_axes(u->axes)) return SOA_E_ARGUMENT;
    *body = SOAI_AT(m, soai_frame_row, frame)[u->frame].body;
    if (!*body) return SOA_E_ARGUMENT;
    if (!soai_all_finite(u->mean, 6) || !soai_all_finite(u->covariance, 36))
        return SOA_E_NOT_FINITE;
    return is_covariance(u->covariance) ? SOA_OK : SOA_E_ARGUMENT;
}
static soa_status check_input(soa_estimator *e, const soa_estimator_input *in) {
    soa_status s;
    e->failed_body = -1;
    if (in->unknown_count < 0 || (in->unknown_count && !in->unknowns)) return SOA_E_ARGUMENT;
    if ((s = check_variance(e, in->tau_variance)) || (s = check_variance(e, in->a_variance)))
        return s;
    for (int i = 0; i < in->unknown_count; ++i) {
        int body = -1;
        if ((s = check_unknown(e->model, in->unknowns + i, &body))) {
            e->failed_body = body;
            return s;
        }
    }
    return SOA_OK;
}
/* Takes a wrench in the axes of u to the origin and axes of its body. */
static void unknown_to_body(const soa_estimator *e, const soa_unknown_wrench *u, double X[36]) {
    const soai_frame_row *row = SOAI_AT(e->model, soai_frame_row, frame) + u->frame;
    double R[9];
    for (int i = 0; i < 9; ++i)
        R[i] = u->axes == SOA_AXES_WORLD ? e->body[row->body].Rw[3 * (i % 3) + i / 3] : row->R[i];
    six_phi(R, row->p, X);
}
static void congruence(const double X[36], const double A[36], double out[36]) {
    double T[36];
    six_six(X, A, T);
    six_six_t(T, X, out);
}
static void add_unknowns(soa_estimator *e, const soa_estimator_input *in) {
    for (int i = 0; i < in->unknown_count; ++i) {
        const soa_unknown_wrench *u = in->unknowns + i;
        body_estimate *b = e->body + SOAI_AT(e->model, soai_frame_row, frame)[u->frame].body;
        double X[36], Y[36], mean[6];
        unknown_to_body(e, u, X);
        six_mul(X, u->mean, mean);
        congruence(X, u->covariance, Y);
        for (int j = 0; j < 36; ++j)
            b->Q[j] += Y[j];
        v6_add_scaled(1, mean, b->wrench);
    }
    for (int i = 1; i <= e->model->nb; ++i)
        six_mirror(e->body[i].Q);
}

/* --- the motion as measured: R87 (16) to (20) ------------------------------------------------- */
static void keep_geometry(soa_estimator *e, soa_work *w, const double *fext) {
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        body_estimate *o = e->body + i;
        memset(o->Q, 0, sizeof o->Q);
        memset(o->wrench, 0, sizeof o->wrench);
        memset(o->rotor, 0, sizeof o->rotor);
        if (fext) memcpy(o->wrench, fext + 6 * (i - 1), sizeof o->wrench);
        memcpy(o->R, w->w.b[i].R, sizeof o->R);
        memcpy(o->p, w->w.b[i].p, sizeof o->p);
        memcpy(o->Rw, w->w.Rw + 9 * (size_t)i, sizeof o->Rw);
        for (int c = 0; c < b->nv; ++c)
            step_column(k, &w->w, b, b->kind, c, o->H + 6 * c);
        for (int j = 0; b->rotor && b->parent && j < 3; ++j)
            o->rotor[j] = k->dof[b->iv].rotor[j];
    }
}
static void nominal_accelerations(soa_estimator *e, const soa_work *w) {
    double up[6];
    base_acceleration(&w->view, up);
    memcpy(e->body[0].lambda, up, sizeof up);
    for (int i = 1; i <= w->view.nb; ++i) {
        body_estimate *o = e->body + i;
        rot_tmul(o->Rw, up + 3, o->lambda + 3);
        for (int j = 0; j < 3; ++j)
            o->lambda[j] = 0;
        v6_add_scaled(1, w->w.b[i].A, o->lambda);
    }
}
/* x, and the torques of the joints into tau, without friction and springs */
static void nominal_forces(soa_estimator *e, const soa_work *w, const double *v) {
    const soai_view_double *k = &w->view;
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        body_estimate *o = e->body + i;
        double f[6];
        step_bias_force(b, w->w.b[i].V, o->wrench, o->x);
        rigid_mul_k(b->M, o->lambda, f);
        v6_add_scaled(1, f, o->x);
    }
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        body_estimate *o = e->body + i, *in = e->body + b->parent;
        for (int c = 0; c < b->nv; ++c)
            e->tau[b->iv + c] =
                v6_dot(o->H + 6 * c, o->x) + k->dof[b->iv + c].armature * e->a[b->iv + c];
        if (!b->parent) continue;
        if (b->rotor) {
            double t[3];
            v3_cross(w->w.b[b->parent].V, o->rotor, t);
            for (int j = 0; j < 3; ++j)
                in->x[j] += t[j] * v[b->iv] + o->rotor[j] * e->a[b->iv];
            e->tau[b->iv] += v3_dot(o->rotor, in->lambda);
        }
        force_in_add(o->R, o->p, o->x, in->x);
    }
}

/* --- inward: the filter ----------------------------------------------------------------------- */
/* Inverse of K (n x n) into W by Gauss-Jordan elimination; the rows and columns of K are scaled
 * first, K is destroyed.  false: no inverse. */
static bool invert(int n, double *K, double *W) {
    double row[BOTH], column[BOTH];
    for (int r = 0; r < n; ++r) {
        row[r] = 0;
        for (int c = 0; c < n; ++c)
            if (fabs(K[n * r + c]) > row[r]) row[r] = fabs(K[n * r + c]);
        if (!(row[r] > 0 && row[r] < INFINITY)) return false;
    }
    for (int c = 0; c < n; ++c) {
        column[c] = 0;
        for (int r = 0; r < n; ++r)
            if (fabs(K[n * r + c]) / row[r] > column[c]) column[c] = fabs(K[n * r + c]) / row[r];
        if (!(column[c] > 0 && column[c] < INFINITY)) return false;
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
            K[n * r + c] /= row[r] * column[c];
            W[n * r + c] = r == c;
        }
    for (int c = 0; c < n; ++c) {
        int best = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(K[n * r + c]) > fabs(K[n * best + c])) best = r;
        if (!(fabs(K[n * best + c]) > LEAST_PIVOT)) return false;
        for (int j = 0; j < n; ++j) {
            const double k = K[n * c + j], x = W[n * c + j];
            K[n * c + j] = K[n * best + j];
            K[n * best + j] = k;
            W[n * c + j] = W[n * best + j];
            W[n * best + j] = x;
        }
        const double pivot = K[n * c + c];
        for (int j = 0; j < n; ++j) {
            K[n * c + j] /= pivot;
            W[n * c + j] /= pivot;
        }
        for (int r = 0; r < n; ++r) {
            const double t = K[n * r + c];
            for (int j = 0; r != c && j < n; ++j) {
                K[n * r + j] -= t * K[n * c + j];
                W[n * r + j] -= t * W[n * c + j];
            }
        }
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            W[n * r + c] /= column[r] * row[c];
    return true;
}
/* An equation alpha x + beta (K x + g) = 0 instead of x / variance + K x + g = 0: any variance from
 * 0 to infinity will do. */
typedef struct weights {
    double alpha, beta;
} weights;
static weights weigh(double variance) {
    return variance > 1 ? (weights){1 / variance, 1} : (weights){1, variance};
}

/* U = S H* and K = H S H*, with the couplings through rotors. */
static void project(const soa_estimator *e, const soai_view_double *k, int i) {
    const soai_body_double *b = k->body + i;
    const body_estimate *o = e->body + i;
    const int nv = b->nv, n = 2 * nv;
    double *U = e->U + 24 * (size_t)b->iv, *K = e->K + 4 * (size_t)b->id;
    for (int c = 0; c < n; ++c) {
        const double *H = o->H + 6 * (c % nv);
        const int half = c < nv ? 0 : 6;
        for (int r = 0; r < 12; ++r)
            U[12 * c + r] = v6_dot(o->S + 12 * r + half, H);
        for (int r = 0; r < n; ++r)
            K[n * r + c] = v6_dot(o->H + 6 * (r % nv), U + 12 * c + (r < nv ? 0 : 6));
    }
    for (int c = 0; c < nv; ++c) {
        K[n * c + nv + c] += k->dof[b->iv + c].armature;
        K[n * (nv + c) + c] += k->dof[b->iv + c].armature;
    }
    if (!b->rotor || !b->parent) return;
    double r[3];
    rot_tmul(o->R, o->rotor, r);
    for (int j = 0; j < 3; ++j) {
        U[6 + j] += r[j];  /* delta puts a couple on the carrier */
        U[12 + j] += r[j]; /* the torque, theta's, feels the carrier's acceleration */
    }
}

/* Innovation and its covariance C, the joints inboard accelerating as measured.  If an acceleration
 * of this joint is not measured, C is infinite. */
static void innovate(const soa_estimator *e, const soai_body_double *b) {
    const int nv = b->nv, n = 2 * nv;
    const double *K = e->K + 4 * (size_t)b->id, *g = e->g + 2 * (size_t)b->iv;
    double *C = e->C + b->id, *innovation = e->innovation + b->iv;
    double own[36], Y[36], step[6];
    bool known = true;
    for (int r = 0; r < nv; ++r) {
        const double A = e->a_variance[b->iv + r];
        known &= A < INFINITY;
        innovation[r] = -g[nv + r];
        for (int c = 0; c < nv; ++c)
            own[nv * r + c] = (known ? A * K[n * r + c] : 0) + (r == c);
    }
    if (!known || !invert(nv, own, Y)) { /* 1 + A Lambda always has an inverse */
        for (int j = 0; j < nv * nv; ++j)
            C[j] = j % (nv + 1) ? 0 : INFINITY;
        return;
    }
    for (int r = 0; r < nv; ++r) {
        step[r] = 0;
        for (int c = 0; c < nv; ++c) {
            Y[nv * r + c] *= e->a_variance[b->iv + c];
            step[r] += Y[nv * r + c] * g[c];
        }
    }
    for (int r = 0; r < nv; ++r) {
        for (int c = 0; c < nv; ++c) {
            innovation[r] += K[n * (nv + r) + c] * step[c];
            C[nv * r + c] = -K[n * (nv + r) + nv + c];
            for (int p = 0; p < nv; ++p)
                for (int q = 0; q < nv; ++q)
                    C[nv * r + c] += K[n * (nv + r) + p] * Y[nv * p + q] * K[n * (nv + c) + q];
        }
        C[(nv + 1) * r] += e->tau_variance[b->iv + r];
    }
}
/* Each measured torque must have more than rounding error of its variance left when everything
 * outboard and the joint's other torques are known: -1 / W at theta.  false: it follows from them. */
static bool leaves_something(const soa_estimator *e, const soai_body_double *b,
                             const body_estimate *o) {
    const int nv = b->nv, n = 2 * nv;
    const double *K = e->K + 4 * (size_t)b->id, *W = e->W + 4 * (size_t)b->id;
    for (int r = 0; r < nv; ++r) {
        double Ph[6];
        if (!(e->tau_variance[b->iv + r] < INFINITY)) continue;
        six_mul(o->prior, o->H + 6 * r, Ph);
        double before = v6_dot(o->H + 6 * r, Ph) + e->tau_variance[b->iv + r];
        for (int c = 0; c < nv; ++c) {
            const double A = e->a_variance[b->iv + c], D = K[n * (nv + r) + c];
            if (A < INFINITY) before += D * A * D;
        }
        if (!(-W[(n + 1) * (nv + r)] * EXHAUSTED * before < 1)) return false;
    }
    return true;
}
/* The joint's acceleration unknown: it must follow from the torque, through an inertia. */
static bool moves(const soa_estimator *e, const soai_body_double *b, const body_estimate *o) {
    const int nv = b->nv, n = 2 * nv;
    const double *K = e->K + 4 * (size_t)b->id;
    double most = 0;
    for (int r = 0; r < 6; ++r)
        for (int c = 6; c < 12; ++c)
            if (fabs(o->S[12 * r + c]) > most) most = fabs(o->S[12 * r + c]);
    for (int c = 0; c < nv; ++c) {
        if (e->a_variance[b->iv + c] < INFINITY) continue;
        if (!(K[n * c + c] > 0) && !(K[n * c + nv + c] > LEAST_INERTIA * most)) return false;
    }
    return true;
}
/* W = K^-1 with the variances of this joint; false: none. */
static bool solve_joint(const soa_estimator *e, const soai_body_double *b) {
    const int nv = b->nv, n = 2 * nv;
    const double *K = e->K + 4 * (size_t)b->id;
    double *W = e->W + 4 * (size_t)b->id, A[4 * 36], inverse[4 * 36];
    weights t[BOTH];
    for (int c = 0; c < nv; ++c) {
        t[c] = weigh(e->a_variance[b->iv + c]);
        t[nv + c] = weigh(1 / e->tau_variance[b->iv + c]); /* its inverse: -R theta */
        t[nv + c].alpha = -t[nv + c].alpha;
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
            A[n * r + c] = t[r].beta * K[n * r + c] + (r == c ? t[r].alpha : 0);
    if (!invert(n, A, inverse)) return false;
    for (int r = 0; r < n; ++r)
        for (int c = 0; c <= r; ++c)
            W[n * r + c] = W[n * c + r] =
                0.5 * (inverse[n * r + c] * t[c].beta + inverse[n * c + r] * t[r].beta);
    return true;
}
/* G x = U W x for x of 2 nv, out of 12 */
static void gain_mul(const soa_estimator *e, const soai_body_double *b, const double *x,
                     double out[12]) {
    const int n = 2 * b->nv;
    const double *U = e->U + 24 * (size_t)b->iv, *W = e->W + 4 * (size_t)b->id;
    for (int r = 0; r < 12; ++r)
        out[r] = 0;
    for (int c = 0; c < n; ++c) {
        double y = 0;
        for (int j = 0; j < n; ++j)
            y += W[n * c + j] * x[j];
        for (int r = 0; r < 12; ++r)
            out[r] += U[12 * c + r] * y;
    }
}
/* G* l for l of 12, out of 2 nv */
static void gain_tmul(const soa_estimator *e, const soai_body_double *b, const double l[12],
                      double *out) {
    const int n = 2 * b->nv;
    const double *U = e->U + 24 * (size_t)b->iv, *W = e->W + 4 * (size_t)b->id;
    double Ul[BOTH];
    for (int c = 0; c < n; ++c) {
        Ul[c] = 0;
        for (int r = 0; r < 12; ++r)
            Ul[c] += U[12 * c + r] * l[r];
    }
    for (int r = 0; r < n; ++r) {
        out[r] = 0;
        for (int c = 0; c < n; ++c)
            out[r] += W[n * r + c] * Ul[c];
    }
}
/* S+ = S - U W U* and s+ = s - U W g, added to the parent's in its axes. */
static void pass_inward(soa_estimator *e, const soai_body_double *b, int i) {
    const int n = 2 * b->nv;
    const body_estimate *o = e->body + i;
    body_estimate *in = e->body + b->parent;
    const double *U = e->U + 24 * (size_t)b->iv;
    double plus[144], step[12], phi[36], block[36], turned[36];
    memcpy(plus, o->S, sizeof plus);
    for (int r = 0; r < 12; ++r) {
        double row[BOTH], G[12];
        for (int c = 0; c < n; ++c)
            row[c] = U[12 * c + r];
        gain_mul(e, b, row, G);
        for (int c = 0; c < 12; ++c)
            plus[12 * r + c] -= G[c];
    }
    gain_mul(e, b, e->g + 2 * (size_t)b->iv, step);
    for (int r = 0; r < 12; ++r)
        step[r] = o->s[r] - step[r];
    force_in_add(o->R, o->p, step, in->s);
    force_in_add(o->R, o->p, step + 6, in->s + 6);
    six_phi(o->R, o->p, phi);
    for (int half = 0; half < 4; ++half) {
        const int r0 = half & 2 ? 6 : 0, c0 = half & 1 ? 6 : 0;
        for (int j = 0; j < 36; ++j) /* symmetric to the last bit */
            block[j] =
                0.5 * (plus[12 * (r0 + j / 6) + c0 + j % 6] + plus[12 * (c0 + j % 6) + r0 + j / 6]);
        congruence(phi, block, turned);
        for (int j = 0; j < 36; ++j)
            in->S[12 * (r0 + j / 6) + c0 + j % 6] += turned[j];
    }
    congruence(phi, o->prior, turned);
    for (int j = 0; j < 36; ++j)
        in->prior[j] += turned[j];
}
static void start_filter(soa_estimator *e, const soai_view_double *k) {
    for (int i = 0; i <= k->nb; ++i) {
        body_estimate *o = e->body + i;
        double M[36] = {0};
        if (i) six_rigid(k->body[i].M, M);
        memset(o->s, 0, sizeof o->s);
        memset(o->S, 0, sizeof o->S);
        for (int j = 0; i && j < 36; ++j) {
            const int r = j / 6, c = j % 6;
            o->S[12 * (6 + r) + c] = M[j];
            o->S[12 * c + 6 + r] = M[j];
            o->S[12 * (6 + r) + 6 + c] = -o->Q[j];
        }
        if (i) memcpy(o->prior, o->Q, sizeof o->prior);
    }
}
/* 0, or the body whose joint has no answer */
static int filter(soa_estimator *e, const soai_view_double *k) {
    start_filter(e, k);
    for (int i = k->nb; i >= 1; --i) {
        const soai_body_double *b = k->body + i;
        const body_estimate *o = e->body + i;
        double *g = e->g + 2 * (size_t)b->iv;
        for (int c = 0; c < b->nv; ++c) {
            g[c] = v6_dot(o->H + 6 * c, o->s);
            g[b->nv + c] = v6_dot(o->H + 6 * c, o->s + 6) - e->y[b->iv + c];
        }
        if (b->nv) {
            project(e, k, i);
            if (!moves(e, b, o) || !solve_joint(e, b) || !leaves_something(e, b, o)) return i;
            innovate(e, b);
        }
        if (b->parent) pass_inward(e, b, i);
    }
    return 0;
}

/* --- outward: the smoother -------------------------------------------------------------------- */
/* l+ = phi* l-(parent), both halves */
static void pass_outward(const soa_estimator *e, const soai_body_double *b, int i, double l[12]) {
    const body_estimate *o = e->body + i, *in = e->body + b->parent;
    motion_out(o->R, o->p, in->l, l);
    motion_out(o->R, o->p, in->l + 6, l + 6);
}
/* Omega+ f = phi* Omega-(parent) phi f */
static void omega_plus_mul(const soa_estimator *e, int parent, int i, const double f[12],
                           double out[12]) {
    const body_estimate *o = e->body + i;
    double x[12] = {0}, y[12];
    force_in_add(o->R, o->p, f, x);
    force_in_add(o->R, o->p, f + 6, x + 6);
    for (int r = 0; r < 12; ++r)
        y[r] = soai_dot(12, e->body[parent].Omega + 12 * r, x);
    motion_out(o->R, o->p, y, out);
    motion_out(o->R, o->p, y + 6, out + 6);
}
/* Column c of Omega-: (1 - G H)* Omega+ (1 - G H) e_c + H* W H e_c */
static void omega_column(const soa_estimator *e, const soai_body_double *b, int i, int c,
                         double out[12]) {
    const body_estimate *o = e->body + i;
    const int nv = b->nv, n = 2 * nv;
    const double *W = e->W + 4 * (size_t)b->id;
    double h[BOTH], x[12], d[BOTH];
    for (int j = 0; j < n; ++j)
        h[j] = (j < nv) == (c < 6) ? o->H[6 * (j % nv) + c % 6] : 0;
    gain_mul(e, b, h, x);
    for (int r = 0; r < 12; ++r)
        x[r] = (r == c) - x[r];
    omega_plus_mul(e, b->parent, i, x, out);
    gain_tmul(e, b, out, d);
    for (int j = 0; j < n; ++j) {
        double y = -d[j];
        for (int m = 0; m < n; ++m)
            y += W[n * j + m] * h[m];
        v6_add_scaled(y, o->H + 6 * (j % nv), out + (j < nv ? 0 : 6));
    }
}
static void smooth(soa_estimator *e, const soai_view_double *k) {
    memset(e->body[0].l, 0, sizeof e->body[0].l);
    memset(e->body[0].Omega, 0, sizeof e->body[0].Omega);
    for (int i = 1; i <= k->nb; ++i) {
        const soai_body_double *b = k->body + i;
        body_estimate *o = e->body + i;
        const int nv = b->nv, n = 2 * nv;
        const double *W = e->W + 4 * (size_t)b->id, *g = e->g + 2 * (size_t)b->iv;
        double d[BOTH], columns[144];
        pass_outward(e, b, i, o->l);
        gain_tmul(e, b, o->l, d);
        for (int r = 0; r < n; ++r) {
            double x = -d[r];
            for (int c = 0; c < n; ++c)
                x -= W[n * r + c] * g[c];
            e->joint[2 * (size_t)b->iv + (size_t)r] = x;
            v6_add_scaled(x, o->H + 6 * (r % nv), o->l + (r < nv ? 0 : 6));
        }
        for (int c = 0; c < 12; ++c)
            omega_column(e, b, i, c, columns + 12 * c);
        for (int r = 0; r < 12; ++r)
            for (int c = 0; c < 12; ++c)
                o->Omega[12 * r + c] = 0.5 * (columns[12 * r + c] + columns[12 * c + r]);
    }
}

/* --- public calls ----------------------------------------------------------------------------- */
static void take_measurements(soa_estimator *e, const soa_estimator_input *in,
                              soa_estimator_result *result) {
    const int nv = e->model->nv;
    result->degrees = 0;
    for (int j = 0; j < nv; ++j) {
        e->tau_variance[j] = in->tau_variance ? in->tau_variance[j] : 0;
        e->a_variance[j] = in->a_variance ? in->a_variance[j] : INFINITY;
        const bool known = e->a_variance[j] < INFINITY;
        e->a[j] = in->a && known ? in->a[j] : 0;
        e->y[j] = in->tau && e->tau_variance[j] < INFINITY ? in->tau[j] : 0;
        result->degrees += (e->tau_variance[j] < INFINITY) - !known;
    }
}
soa_status soa_estimator_update(soa_estimator *e, soa_work *w, const soa_estimator_input *input,
                                soa_estimator_result *result) {
    soa_estimator_result own;
    soai_inputs in;
    if (!e || !w || !input || w->model != e->model) return SOA_E_ARGUMENT;
    soa_status s = check_input(e, input);
    if (s) return s;
    e->ready = false;
    take_measurements(e, input, &own);
    const soa_input state = {.q = input->q,
                             .v = input->v,
                             .a = e->a,
                             .tau = e->y,
                             .wrenches = input->wrenches,
                             .wrench_count = input->wrench_count};
    if ((s = soai_enter_inverse(e->model, w, &state, &in)) ||
        (s = soai_enter_forward(e->model, w, &state, &in))) {
        e->failed_body = soa_work_failed_body(w);
        return s;
    }
    const soai_view_double *k = &w->view;
    w->k->kinematics(k, &w->w, in.q, in.v, e->a);
    keep_geometry(e, w, in.fext);
    add_unknowns(e, input);
    nominal_accelerations(e, w);
    nominal_forces(e, w, in.v);
    step_losses(k, in.q, in.v, 1, e->tau);
    for (int j = 0; j < k->nv; ++j)
        e->y[j] = e->tau_variance[j] < INFINITY ? e->y[j] - e->tau[j] : 0;
    const int bad = filter(e, k);
    if (bad) {
        e->failed_body = bad;
        return SOA_E_SINGULAR;
    }
    smooth(e, k);
    own.chi_square = 0;
    for (int i = 1; i <= k->nb; ++i)
        for (int c = 0; c < k->body[i].nv; ++c)
            own.chi_square -=
                e->joint[2 * k->body[i].iv + k->body[i].nv + c] * e->y[k->body[i].iv + c];
    e->ready = true;
    if (result) *result = own;
    return SOA_OK;
}

/* Q + Q Omega_mu Q, R87 (65) */
static void after_measurement(const double Q[36], const double Omega_mu[36], double out[36]) {
    double T[36];
    six_six(Q, Omega_mu, T);
    six_six(T, Q, out);
    for (int j = 0; j < 36; ++j)
        out[j] += Q[j];
    six_mirror(out);
}
static void omega_block(const body_estimate *o, int at, double out[36]) {
    for (int j = 0; j < 36; ++j)
        out[j] = o->Omega[12 * (at + j / 6) + at + j % 6];
}
/* Force through the joint, x = P lambda + z - Sigma mu, and -[S - S Omega S] of it. */
static void read_force(const body_estimate *o, soa_estimate *out) {
    for (int r = 0; r < 6; ++r) {
        const double *row = o->S + 12 * (6 + r);
        double y[12];
        out->force[r] = o->x[r] + o->s[6 + r] + soai_dot(12, row, o->l);
        for (int c = 0; c < 12; ++c)
            y[c] = soai_dot(12, o->Omega + 12 * c, row);
        for (int c = 0; c < 6; ++c)
            out->force_covariance[6 * r + c] = soai_dot(12, o->S + 12 * (6 + c), y) - row[6 + c];
    }
    six_mirror(out->force_covariance);
}
/* Joint accelerations W + G* Omega+ G, R87 (83); torques: of K0 theta + U l, what Omega leaves. */
static void read_joint(const soa_estimator *e, const soai_body_double *b, int i,
                       soa_estimate *out) {
    const body_estimate *o = e->body + i;
    const int nv = b->nv, n = 2 * nv;
    const double *W = e->W + 4 * (size_t)b->id, *K = e->K + 4 * (size_t)b->id,
                 *U = e->U + 24 * (size_t)b->iv, *d = e->joint + 2 * (size_t)b->iv;
    double l[12], G[BOTH][12], OG[BOTH][12], Wk[BOTH][BOTH], rest[BOTH][12];
    pass_outward(e, b, i, l);
    for (int c = 0; c < n; ++c) {
        double unit[BOTH] = {0};
        unit[c] = 1;
        gain_mul(e, b, unit, G[c]);
        omega_plus_mul(e, b->parent, i, G[c], OG[c]);
    }
    for (int r = 0; r < nv; ++r) {
        out->acceleration[r] = e->a[b->iv + r] + d[r];
        for (int c = 0; c < nv; ++c)
            out->acceleration_covariance[nv * r + c] =
                W[n * r + c] + 0.5 * (soai_dot(12, G[r], OG[c]) + soai_dot(12, G[c], OG[r]));
    }
    for (int c = 0; c < nv; ++c) { /* k, W k and u - G k of torque c */
        double k[BOTH], Gk[12];
        for (int r = 0; r < n; ++r)
            k[r] = K[n * r + nv + c];
        for (int r = 0; r < n; ++r)
            Wk[c][r] = soai_dot(n, W + n * r, k);
        gain_mul(e, b, k, Gk);
        for (int r = 0; r < 12; ++r)
            rest[c][r] = U[12 * (nv + c) + r] - Gk[r];
        out->torque[c] = e->tau[b->iv + c];
        if (e->tau_variance[b->iv + c] < INFINITY) /* the equation of theta */
            out->torque[c] += e->y[b->iv + c] + e->tau_variance[b->iv + c] * d[nv + c];
        else
            out->torque[c] += v6_dot(o->H + 6 * c, o->s + 6) + soai_dot(n, k, d) +
                              soai_dot(12, U + 12 * (nv + c), l);
    }
    for (int c = 0; c < nv; ++c) {
        double O[12];
        omega_plus_mul(e, b->parent, i, rest[c], O);
        for (int r = 0; r < nv; ++r) {
            double sum = soai_dot(12, rest[r], O) - K[n * (nv + r) + nv + c];
            for (int j = 0; j < n; ++j)
                sum += K[n * j + nv + r] * Wk[c][j];
            out->torque_covariance[nv * r + c] = sum;
        }
    }
}
soa_status soa_estimator_read(const soa_estimator *e, int body, soa_estimate *out) {
    if (!e || !out || body < 1 || body > e->model->nb) return SOA_E_ARGUMENT;
    if (!e->ready) return SOA_E_ORDER;
    const soai_body_double *b = soai_bodies(e->model) + body;
    const body_estimate *o = e->body + body;
    double Omega[36];
    memset(out, 0, sizeof *out);
    out->nv = b->nv;
    memcpy(out->innovation, e->innovation + b->iv, (size_t)b->nv * sizeof(double));
    memcpy(out->innovation_covariance, e->C + b->id, (size_t)(b->nv * b->nv) * sizeof(double));
    read_joint(e, b, body, out);
    read_force(o, out);
    for (int r = 0; r < 6; ++r) {
        out->lambda[r] = o->lambda[r] + o->l[r];
        out->wrench[r] = o->wrench[r] + v6_dot(o->Q + 6 * r, o->l + 6);
    }
    omega_block(o, 0, out->lambda_covariance);
    omega_block(o, 6, Omega);
    after_measurement(o->Q, Omega, out->wrench_covariance);
    return SOA_OK;
}
soa_status soa_estimator_wrench(const soa_estimator *e, const soa_unknown_wrench *unknown,
                                double value[6], double covariance[36]) {
    int body;
    double X[36], Omega[36], O[36], mu[6];
    if (!e || !unknown || !value) return SOA_E_ARGUMENT;
    if (!e->ready) return SOA_E_ORDER;
    const soa_status s = check_unknown(e->model, unknown, &body);
    if (s) return s;
    const body_estimate *o = e->body + body;
    unknown_to_body(e, unknown, X);
    six_tmul(X, o->l + 6, mu);
    for (int r = 0; r < 6; ++r)
        value[r] = unknown->mean[r] + v6_dot(unknown->covariance + 6 * r, mu);
    if (!covariance) return SOA_OK;
    omega_block(o, 6, Omega);
    for (int r = 0; r < 6; ++r) /* X* Omega X, by its transpose twice */
        six_tmul(X, Omega + 6 * r, O + 6 * r);
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < r; ++c) {
            const double t = O[6 * r + c];
            O[6 * r + c] = O[6 * c + r];
            O[6 * c + r] = t;
        }
    for (int r = 0; r < 6; ++r) {
        double row[6];
        six_tmul(X, O + 6 * r, row);
        memcpy(O + 6 * r, row, sizeof row);
    }
    after_measurement(unknown->covariance, O, covariance);
    return SOA_OK;
}
