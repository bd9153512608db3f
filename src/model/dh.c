/* dh.c  converts Denavit-Hartenberg rows to links with frames at the joint origins.
 *
 * standard  (DH frame at the far end)    A = Rz(theta) Tz(d) Tx(a) Rx(alpha)
 *           The link frame turns with joint i about z of DH frame i-1. DH frame i is fixed in it at
 *           Tz(d) Tx(a) Rx(alpha).
 * modified  (DH frame at the joint)      A = Rx(alpha) Tx(a) Rz(theta) Tz(d)
 *           The link frame is DH frame i. */
#include "model_internal.h"
#include <math.h>
#include <stdio.h>

soa_dh_row soa_dh_row_default(double d, double a, double alpha) {
    return (soa_dh_row){.d = d, .a = a, .alpha = alpha, .joint = soa_joint_default(SOA_REVOLUTE)};
}

static soa_frame rot_z(double angle, double z) {
    return soa_frame_from_rpy(0, 0, angle, 0, 0, z);
}
/* Exact quarter turns: DH tables are full of them, and cos(pi/2) must not leave 6e-17. */
static soa_frame rot_x(double alpha, double x) {
    soa_frame f = soa_frame_from_rpy(alpha, 0, 0, x, 0, 0);
    const double quarter = alpha / 1.57079632679489661923;
    if (quarter == floor(quarter) && fabs(quarter) < 1e6) {
        const int turns = (int)(((long)quarter % 4 + 4) % 4);
        static const double c[4] = {1, 0, -1, 0}, s[4] = {0, 1, 0, -1};
        f.R[4] = f.R[8] = c[turns];
        f.R[7] = s[turns];
        f.R[5] = -s[turns];
    }
    return f;
}

/* Moves com and inertia from the DH frame to the link frame. */
static void move_inertia(const soa_frame *dh, const soa_dh_row *row, soa_body_def *b) {
    b->mass = row->mass;
    const double *R = dh->R, *I = row->inertia;
    const double S[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
    double T[3][3];
    for (int i = 0; i < 3; ++i) {
        b->com[i] = dh->p[i] + R[3 * i] * row->com[0] + R[3 * i + 1] * row->com[1] +
                    R[3 * i + 2] * row->com[2];
        for (int j = 0; j < 3; ++j) {
            T[i][j] = 0;
            for (int k = 0; k < 3; ++k)
                for (int l = 0; l < 3; ++l)
                    T[i][j] += R[3 * i + k] * S[k][l] * R[3 * j + l];
        }
    }
    const double out[6] = {T[0][0], T[1][1], T[2][2], T[0][1], T[0][2], T[1][2]};
    memcpy(b->inertia, out, sizeof out);
}

soa_status soa_dh_chain_append(const soa_dh_chain_def *def, soa_body_def *bodies, int at,
                               soa_frame_def *frames, int at_frame, char *names) {
    if (!def) return SOA_E_ARGUMENT;
    soa_dh_form form = def->form;
    const soa_dh_row *rows = def->rows;
    int count = def->count;
    const char *prefix = def->prefix;
    int parent = def->parent;
    const soa_frame *base = def->base;
    if (!rows || count < 0 || !prefix || parent < 0 || parent > at || !bodies || !frames ||
        !names || at < 0 || at_frame < 0)
        return SOA_E_ARGUMENT;
    if (strlen(prefix) > SOA_DH_NAME / 2 - 20) return SOA_E_NAME;
    /* DH frame i-1 in the link that carries it. */
    soa_frame previous = base ? *base : soa_frame_identity();
    for (int i = 0; i < count; ++i) {
        const soa_dh_row *r = rows + i;
        char *name = names + (size_t)i * SOA_DH_NAME, *dh_name = name + SOA_DH_NAME / 2;
        snprintf(name, SOA_DH_NAME / 2, "%s%d", prefix, i + 1);
        snprintf(dh_name, SOA_DH_NAME / 2, "%s%d_dh", prefix, i + 1);
        soa_body_def *b = bodies + at + i;
        *b = soa_body_default(name, i == 0 ? parent : at + i, r->joint.type);
        b->joint = r->joint;
        if (r->joint.type != SOA_FIXED) b->joint.type = r->prismatic ? SOA_PRISMATIC : SOA_REVOLUTE;
        b->joint.axis[0] = b->joint.axis[1] = 0;
        b->joint.axis[2] = 1;
        soa_frame dh = soa_frame_identity();
        const soa_frame turn = rot_z(r->theta, 0), x = rot_x(r->alpha, r->a), up = rot_z(0, r->d);
        if (form == SOA_DH_STANDARD) {
            b->placement = soa_frame_compose(&previous, &turn);
            dh = soa_frame_compose(&up, &x);
        } else {
            const soa_frame across = soa_frame_compose(&previous, &x),
                            lift = soa_frame_compose(&turn, &up);
            b->placement = soa_frame_compose(&across, &lift);
        }
        move_inertia(&dh, r, b);
        frames[at_frame + i] =
            (soa_frame_def){.name = dh_name, .link = at + i + 1, .placement = dh};
        previous = dh;
    }
    return SOA_OK;
}
