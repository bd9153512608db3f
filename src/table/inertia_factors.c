/* inertia_factors.c  M = U diag(d) U* of every body, see inertia_factors.h.
 *
 * With c the mass centre and I_c = V diag(e) V* the inertia about it (V unit upper triangular),
 *     M = sum e_j [v_j; 0][v_j; 0]* + m sum [c x e_j; e_j][c x e_j; e_j]*,
 * which is a factorisation with six columns, but not a triangular one.  Modified weighted
 * Gram-Schmidt makes it triangular; it never subtracts from a weight, so that no d is negative and
 * small ones keep their digits. */
#include "inertia_factors.h"
#include <math.h>
#include <stddef.h>

/* Six columns and their weights: rows are coordinates, in the body's order. */
typedef struct columns {
    double row[6][6];
    double weight[6];
} columns;

/* Angular inertia about the mass centre; zero where rounding leaves less. */
static void about_mass_centre(const double M[10], double c[3], double I[3][3]) {
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    const double m = M[0];
    double square = 0;
    for (int j = 0; j < 3; ++j) {
        c[j] = m > 0 ? M[1 + j] / m : 0;
        square += c[j] * c[j];
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            I[i][j] = M[4 + at[i][j]] - m * ((i == j ? square : 0) - c[i] * c[j]);
}
/* I = V diag(e) V*, V unit upper triangular. */
static void factor_angular(double I[3][3], double V[3][3], double e[3]) {
    for (int j = 2; j >= 0; --j) {
        e[j] = fmax(I[j][j], 0);
        for (int i = 0; i < 3; ++i)
            V[i][j] = i == j;
        for (int i = 0; i < j; ++i)
            V[i][j] = e[j] > 0 ? I[i][j] / e[j] : 0;
        for (int i = 0; i < j; ++i)
            for (int k = 0; k < j; ++k)
                I[i][k] -= V[i][j] * V[k][j] * e[j];
    }
}
static columns columns_of(const double M[10], const unsigned char order[6]) {
    columns w = {{{0}}, {0}};
    double c[3], I[3][3], V[3][3], column[6][6] = {{0}};
    about_mass_centre(M, c, I);
    factor_angular(I, V, w.weight);
    for (int j = 0; j < 3; ++j) {
        const int n = (j + 1) % 3, l = (j + 2) % 3;
        for (int i = 0; i < 3; ++i)
            column[j][i] = V[i][j];
        column[3 + j][3 + j] = 1; /* [c x e_j; e_j] */
        column[3 + j][n] = c[l];
        column[3 + j][l] = -c[n];
        w.weight[3 + j] = M[0];
    }
    for (int r = 0; r < 6; ++r)
        for (int j = 0; j < 6; ++j)
            w.row[r][j] = column[j][order[r]];
    return w;
}
void soai_factor_inertia(const double M[10], const unsigned char order[6],
                         double factor[SOAI_FACTOR_SIZE]) {
    columns w = columns_of(M, order);
    for (int j = 5; j >= 0; --j) {
        double d = 0;
        for (int k = 0; k < 6; ++k)
            d += w.weight[k] * w.row[j][k] * w.row[j][k];
        factor[SOAI_FACTOR_D + j] = d;
        for (int i = 0; i < j; ++i) {
            double u = 0;
            for (int k = 0; k < 6; ++k)
                u += w.weight[k] * w.row[j][k] * w.row[i][k];
            u = d > 0 ? u / d : 0;
            factor[SOAI_U(i, j)] = u;
            for (int k = 0; k < 6; ++k)
                w.row[i][k] -= u * w.row[j][k];
        }
    }
}

void soai_factor_inertias(int bodies, const soai_body_double *body, double *factors) {
    for (int i = 1; i <= bodies; ++i)
        soai_factor_inertia(body[i].M, soai_factor_order[body[i].kind],
                            factors + (size_t)SOAI_FACTOR_SIZE * (size_t)i);
}
