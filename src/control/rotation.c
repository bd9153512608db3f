/* rotation.c  rotation vectors: R = exp(rho), |rho| <= pi, by unit quaternions. */
#include "soa/control.h"
#include <math.h>

void soa_rotation_to_vector(const double R[9], double rho[3]) {
    if (!rho) return;
    if (!R) {
        rho[0] = rho[1] = rho[2] = 0;
        return;
    }
    /* the largest of w, x, y, z first: no root of a difference (Shepperd) */
    const double t = R[0] + R[4] + R[8];
    double w, u[3];
    if (t >= R[0] && t >= R[4] && t >= R[8]) {
        w = 1 + t;
        u[0] = R[7] - R[5];
        u[1] = R[2] - R[6];
        u[2] = R[3] - R[1];
    } else {
        int i;
        if (R[0] >= R[4] && R[0] >= R[8]) {
            i = 0;
        } else if (R[4] >= R[8]) {
            i = 1;
        } else {
            i = 2;
        }
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        w = R[3 * k + j] - R[3 * j + k];
        u[i] = 1 + R[4 * i] - R[4 * j] - R[4 * k];
        u[j] = R[3 * j + i] + R[3 * i + j];
        u[k] = R[3 * k + i] + R[3 * i + k];
        if (w < 0) {
            w = -w;
            u[0] = -u[0];
            u[1] = -u[1];
            u[2] = -u[2];
        }
    }
    const double size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    const double scale = size > 0 ? 2 * atan2(size, w) / size : 0;
    for (int i = 0; i < 3; ++i)
        rho[i] = scale * u[i];
}

void soa_rotation_from_vector(const double rho[3], double R[9]) {
    static const double none[3];
    if (!R) return;
    if (!rho) rho = none;
    const double angle = sqrt(rho[0] * rho[0] + rho[1] * rho[1] + rho[2] * rho[2]);
    /* unit quaternion; sin(x / 2) / x by its series where x is small */
    const double w = cos(angle / 2),
                 k = angle > 1e-4 ? sin(angle / 2) / angle : 0.5 - angle * angle / 48;
    const double x = k * rho[0], y = k * rho[1], z = k * rho[2];
    R[0] = 1 - 2 * (y * y + z * z);
    R[1] = 2 * (x * y - w * z);
    R[2] = 2 * (x * z + w * y);
    R[3] = 2 * (x * y + w * z);
    R[4] = 1 - 2 * (x * x + z * z);
    R[5] = 2 * (y * z - w * x);
    R[6] = 2 * (x * z - w * y);
    R[7] = 2 * (y * z + w * x);
    R[8] = 1 - 2 * (x * x + y * y);
}
