/* base_internal.h  helpers that all rooms share. */
#ifndef SOAI_BASE_INTERNAL_H
#define SOAI_BASE_INTERNAL_H
#include "soa/base.h"
#include <string.h>

/* Fills a report (may be NULL) and returns the status. Exported for libsoa-io and libsoa-sim, like
 * every soai_ function marked SOA_API. Inside libsoa only C89 formats are allowed: the C libraries
 * of small targets (newlib) do not know %zu and %llu. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
SOA_API soa_status
soai_report(soa_report *report, soa_status status, int body, int line, const char *format, ...);

/* The first statement of every public function that takes a report (may be NULL): SOA_OK, no body,
 * no line, no text. */
SOA_API void soai_report_reset(soa_report *report);
/* Returns the status of a public function, and makes the report (may be NULL) agree with it. After
 * a failure the report keeps what was found; without a text it gets that of the status. On SOA_OK
 * it is reset, because a function may have recovered from a fault that was reported. */
SOA_API soa_status soai_report_end(soa_report *report, soa_status status);

/* Lays out memory given by the caller: returns the next `bytes` bytes, aligned, and advances *at,
 * the offset from the start. With memory NULL it only counts. */
#define SOAI_ALIGN 64u
SOA_API void *soai_take(char *memory, size_t *at, size_t bytes);

/* FNV-1a, 64 bits: finds accidental damage; no protection against deliberate changes. */
SOA_API uint64_t soai_checksum(const void *data, size_t size);

/* 1 if all n numbers are finite. */
int soai_all_finite(const double *x, size_t n);
int soai_all_finite_f(const float *x, size_t n);

/* Eigenvalues of a symmetric 3 x 3 matrix (xx yy zz xy xz yz), ascending, by Jacobi rotations. */
SOA_API void soai_sym3_eigenvalues(const double S[6], double values[3]);

/* x = A^-1 x by Gaussian elimination with row pivoting. A is n x n, row by row, and is destroyed.
 * Returns 0 if A is singular: no pivot is left above the rounding of A's largest entry. */
SOA_API int soai_solve(int n, double *A, double *x);
/* The same, and returns the condition number |A| |A^-1| in the 1-norm. If it is above
 * SOAI_MOST_CONDITION or infinite, A counts as singular and x is unchanged. room: 2 n numbers. */
double soai_solve_measured(int n, double *A, double *x, double *room);
/* A singular matrix shows about 1e15 or more, because its entries are rounded. At 1e13 the result
 * still has three digits. */
#define SOAI_MOST_CONDITION 1e13

/* factor.c: pivoted QR, product with its Q, pivoted Cholesky (QR and Cholesky return a rank),
 * pivoted L D L', SVD. */
int soai_qr(int m, int n, double *A, double *beta, int *pivot, double tolerance);
void soai_qr_apply(int m, int n, const double *A, const double *beta, int transposed, double *x);
int soai_cholesky_pivoted(int n, double *A, int *pivot, double tolerance);
int soai_ldl_solve(int n, double *A, double *x, int *order);
int soai_svd(int m, int n, double *A, double *s, double *V);
/* inverse = A^-1 for a symmetric positive definite A (n x n, only the lower triangle is read).
 * `factor` (n x n) receives the Cholesky factor. Returns 1 / (|A| |A^-1|) in the 1-norm, or 0 and
 * no inverse if A is not positive definite to rounding. */
double soai_spd_inverse(int n, const double *A, double *factor, double *inverse);

#endif
