/* peer.h  what the bench needs from another dynamics library.
 *
 * Each peer is a module with one entry, peer_get(). It builds the mechanism from plain data, takes
 * states in our conventions (load, not timed), answers from a loaded state (run, timed: everything
 * from q is computed anew) and returns the answer in our conventions (fetch, not timed). So only
 * the library's own work is timed. */
#ifndef SOA_BENCH_PEER_H
#define SOA_BENCH_PEER_H

#include "soa/model.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Answers: nv numbers for FD, ID and BIAS; nv x nv for MASS; 6 x nv for JACOBIAN, of the last body
 * at its origin in world axes, angular rows first; three matrices nv x nv for the derivatives, of
 * qdd with respect to q (tangent space), v and tau, and of tau with respect to q, v and qdd. */
typedef enum peer_fn {
    PEER_FD,
    PEER_ID,
    PEER_MASS,
    PEER_BIAS,
    PEER_JACOBIAN,
    PEER_FD_DERIVATIVES,
    PEER_ID_DERIVATIVES,
    PEER_FN_COUNT
} peer_fn;

typedef struct peer_model {
    const char *name;
    int nq, nv, bodies;
    double gravity[3];
    const soa_body_info *body; /* body[1] .. body[bodies] */
} peer_model;

typedef struct peer_library {
    const char *name;    /* name in bench.json */
    const char *version; /* a line for the reader */
    /* Returns NULL if the library cannot represent this mechanism; `why` explains. */
    void *(*open)(const peer_model *model, int states, char *why, size_t size);
    void (*close)(void *peer);
    void (*load)(void *peer, int state, const double *q, const double *v, const double *a,
                 const double *tau);
    /* Name of routine number `way` for fn; NULL after the last. The fastest of those that agree
     * counts. */
    const char *(*way)(void *peer, peer_fn fn, int way);
    void (*run)(void *peer, peer_fn fn, int way, int state);
    /* Answer of the last run of `state`; see peer_fn. */
    void (*fetch)(void *peer, peer_fn fn, int way, int state, double *out);
} peer_library;

typedef const peer_library *peer_get_fn(void);
__attribute__((visibility("default"))) const peer_library *peer_get(void);

/* --- coordinates ------------------------------------------------------------------------------ */
/* Velocities of one joint in both conventions: theirs = B ours; for accelerations theirs = B ours +
 * c. */
typedef struct peer_block {
    int ours, theirs, n;
    int plain; /* B = 1, c = 0 */
    double B[36], c[6];
} peer_block;

static inline void peer_block_plain(peer_block *b, int ours, int theirs, int n) {
    memset(b, 0, sizeof *b);
    b->ours = ours;
    b->theirs = theirs;
    b->n = n;
    b->plain = 1;
    for (int i = 0; i < n; ++i)
        b->B[i * n + i] = 1;
}

/* Solves B x = r, or B' x = r; n <= 6. */
static inline void peer_block_solve(const peer_block *b, int transpose, const double *r,
                                    double *x) {
    double A[6][7];
    int n = b->n;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j)
            A[i][j] = transpose ? b->B[j * n + i] : b->B[i * n + j];
        A[i][n] = r[i];
    }
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i)
            if (fabs(A[i][k]) > fabs(A[best][k])) best = i;
        for (int j = 0; j <= n; ++j) {
            double t = A[k][j];
            A[k][j] = A[best][j];
            A[best][j] = t;
        }
        for (int i = 0; i < n; ++i) {
            double f = i == k ? 0 : A[i][k] / A[k][k];
            for (int j = k; j <= n; ++j)
                A[i][j] -= f * A[k][j];
        }
    }
    for (int i = 0; i < n; ++i)
        x[i] = A[i][n] / A[i][i];
}

static inline void peer_velocity_to(const peer_block *b, int count, const double *ours,
                                    double *theirs, int accel) {
    for (int k = 0; k < count; ++k, ++b)
        for (int i = 0; i < b->n; ++i) {
            double s = accel ? b->c[i] : 0;
            for (int j = 0; j < b->n; ++j)
                s += b->B[i * b->n + j] * ours[b->ours + j];
            theirs[b->theirs + i] = s;
        }
}

static inline void peer_force_to(const peer_block *b, int count, const double *ours,
                                 double *theirs) {
    for (int k = 0; k < count; ++k, ++b)
        peer_block_solve(b, 1, ours + b->ours, theirs + b->theirs);
}

static inline void peer_accel_from(const peer_block *b, int count, const double *theirs,
                                   double *ours) {
    for (int k = 0; k < count; ++k, ++b) {
        double r[6];
        for (int i = 0; i < b->n; ++i)
            r[i] = theirs[b->theirs + i] - b->c[i];
        peer_block_solve(b, 0, r, ours + b->ours);
    }
}

static inline void peer_force_from(const peer_block *b, int count, const double *theirs,
                                   double *ours) {
    for (int k = 0; k < count; ++k, ++b)
        for (int i = 0; i < b->n; ++i) {
            double s = 0;
            for (int j = 0; j < b->n; ++j)
                s += b->B[j * b->n + i] * theirs[b->theirs + j];
            ours[b->ours + i] = s;
        }
}

/* ours = B' theirs B, block by block; theirs has `stride` numbers per row. */
static inline void peer_mass_from(const peer_block *blocks, int count, const double *theirs,
                                  int stride, double *ours, int nv) {
    for (int k = 0; k < count; ++k)
        for (int l = 0; l < count; ++l) {
            const peer_block *a = blocks + k, *b = blocks + l;
            for (int i = 0; i < a->n; ++i)
                for (int j = 0; j < b->n; ++j) {
                    double s = 0;
                    if (a->plain && b->plain)
                        s = theirs[(size_t)(a->theirs + i) * (size_t)stride +
                                   (size_t)(b->theirs + j)];
                    else
                        for (int p = 0; p < a->n; ++p)
                            for (int r = 0; r < b->n; ++r)
                                s += a->B[p * a->n + i] *
                                     theirs[(size_t)(a->theirs + p) * (size_t)stride +
                                            (size_t)(b->theirs + r)] *
                                     b->B[r * b->n + j];
                    ours[(size_t)(a->ours + i) * (size_t)nv + (size_t)(b->ours + j)] = s;
                }
        }
}

/* ours = theirs B; both have 6 rows. */
static inline void peer_jacobian_from(const peer_block *b, int count, const double *theirs,
                                      double *ours, int nv) {
    for (int k = 0; k < count; ++k, ++b)
        for (int row = 0; row < 6; ++row)
            for (int j = 0; j < b->n; ++j) {
                double s = 0;
                for (int i = 0; i < b->n; ++i)
                    s += theirs[row * nv + b->theirs + i] * b->B[i * b->n + j];
                ours[row * nv + b->ours + j] = s;
            }
}

/* --- small vectors; matrices row by row ------------------------------------------------------- */
static inline void peer_mul(const double A[9], const double x[3], double y[3]) {
    double t[3];
    for (int i = 0; i < 3; ++i)
        t[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
    memcpy(y, t, sizeof t);
}

static inline void peer_mul_t(const double A[9], const double x[3], double y[3]) {
    double t[3];
    for (int i = 0; i < 3; ++i)
        t[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
    memcpy(y, t, sizeof t);
}

static inline void peer_cross(const double a[3], const double b[3], double y[3]) {
    double t[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(y, t, sizeof t);
}

static inline void peer_matmul(const double A[9], const double B[9], double C[9]) {
    double t[9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            t[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    memcpy(C, t, sizeof t);
}

static inline void peer_transpose(const double A[9], double C[9]) {
    double t[9] = {A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]};
    memcpy(C, t, sizeof t);
}

/* Converts a quaternion w x y z to a rotation, and back. */
static inline void peer_rotation(const double q[4], double R[9]) {
    double w = q[0], x = q[1], y = q[2], z = q[3];
    double t[9] = {w * w + x * x - y * y - z * z, 2 * (x * y - w * z),
                   2 * (x * z + w * y),           2 * (x * y + w * z),
                   w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
                   2 * (x * z - w * y),           2 * (y * z + w * x),
                   w * w - x * x - y * y + z * z};
    memcpy(R, t, sizeof t);
}

static inline void peer_quaternion(const double R[9], double q[4]) {
    double t[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                   1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (t[i] > t[k]) k = i;
    double a = R[7] - R[5], b = R[2] - R[6], c = R[3] - R[1];
    double d = R[1] + R[3], e = R[2] + R[6], f = R[5] + R[7];
    double u[4][4] = {{t[0], a, b, c}, {a, t[1], d, e}, {b, d, t[2], f}, {c, e, f, t[3]}};
    double s = 0;
    for (int i = 0; i < 4; ++i)
        s += u[k][i] * u[k][i];
    for (int i = 0; i < 4; ++i)
        q[i] = u[k][i] / sqrt(s);
}

/* Principal moments and axes of an inertia xx yy zz xy xz yz: I = R diag(moments) R'. Cyclic
 * Jacobi. */
static inline void peer_principal(const double inertia[6], double moments[3], double R[9]) {
    double A[3][3] = {{inertia[0], inertia[3], inertia[4]},
                      {inertia[3], inertia[1], inertia[5]},
                      {inertia[4], inertia[5], inertia[2]}};
    double V[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 30; ++sweep)
        for (int p = 0; p < 2; ++p)
            for (int q = p + 1; q < 3; ++q) {
                if (A[p][q] == 0) continue;
                double h = (A[q][q] - A[p][p]) / (2 * A[p][q]);
                double t = (h >= 0 ? 1 : -1) / (fabs(h) + sqrt(1 + h * h));
                double c = 1 / sqrt(1 + t * t), s = t * c;
                for (int k = 0; k < 3; ++k) {
                    double x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; ++k) {
                    double x = A[p][k], y = A[q][k];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                    x = V[k][p];
                    y = V[k][q];
                    V[k][p] = c * x - s * y;
                    V[k][q] = s * x + c * y;
                }
                A[p][q] = A[q][p] = 0;
            }
    double det = V[0][0] * (V[1][1] * V[2][2] - V[1][2] * V[2][1]) -
                 V[0][1] * (V[1][0] * V[2][2] - V[1][2] * V[2][0]) +
                 V[0][2] * (V[1][0] * V[2][1] - V[1][1] * V[2][0]);
    for (int i = 0; i < 3; ++i) {
        moments[i] = A[i][i];
        for (int j = 0; j < 3; ++j)
            R[3 * i + j] = det < 0 ? -V[i][j] : V[i][j];
    }
}

/* A rotation whose column k (0 x, 1 y, 2 z) is the unit axis. */
static inline void peer_axis_frame(const double axis[3], int k, double R[9]) {
    int small = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(axis[i]) < fabs(axis[small])) small = i;
    double e[3] = {0, 0, 0}, b[3], c[3], n;
    e[small] = 1;
    peer_cross(axis, e, b);
    n = sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    for (int i = 0; i < 3; ++i)
        b[i] /= n;
    peer_cross(axis, b, c);
    for (int i = 0; i < 3; ++i) {
        R[3 * i + k] = axis[i];
        R[3 * i + (k + 1) % 3] = b[i];
        R[3 * i + (k + 2) % 3] = c[i];
    }
}

/* Writes a 3 x 3 block at (row, col) of the n x n matrix. */
static inline void peer_block_set(peer_block *b, int row, int col, const double A[9]) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            b->B[(row + i) * b->n + col + j] = A[3 * i + j];
    b->plain = 0;
}

#ifdef __cplusplus
}
#endif
#endif
