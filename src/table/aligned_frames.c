/* aligned_frames.c  the same machine with other axes and origins of its bodies, for forward and
 *                   inverse dynamics, mass matrices, batches and generated code.
 *
 * A sweep whose results are joint numbers, or are turned back (soai_wrench_from_chosen), may hold
 * every body in axes of its own choice: x = S y, x in the body's axes, y in the chosen ones.  Then
 * the joint's R(q) becomes S(parent)' R(q) S and inertias, placements and axes turn with it.  S is
 * chosen from base to tips.  Revolute joints without an exact rotor and, but for sweeps with packed
 * inertias, without an armature:
 *   level     the axis lies along a coordinate axis of the parent's chosen axes, in either sense: S
 *             makes the body's parallel to those at q = 0, so R is a turn about that axis and
 *             nothing else (SOAI_KIND_LEVEL_...)
 *   on axis   else S puts the axis along a coordinate axis (SOAI_KIND_REVOLUTE_X ...), if it does
 *             not lie there already
 * All other joints keep the body's axes.  Quarter turns are taken as exact.
 *
 * The origin of a level body may slide along its joint's axis, which changes no joint number
 * either.  Where it can so come to lie on the parent's origin it does, and p vanishes
 * (SOAI_KIND_PIVOT_...); where it cannot, it goes to where the axis meets that of a child, so that
 * the child's can.  Shoulders, hips and wrists are made of such joints.  Bodies on the fixed world
 * are pivots wherever they are: nothing there asks for p.  O(n). */
#include "../spatial/algebra.h"
#include "joint_types.h"
#include "table.h"
#include <math.h>
#include <string.h>

/* Rounding errors of 0 and +-1, as the roll, pitch and yaw of a quarter turn leave them. */
static double clean(double x) {
    const double whole = round(x);
    return fabs(x - whole) < 1e-15 ? whole : x;
}
static void product(const double A[9], const double B[9], double out[9]) {
    double x[9];
    rot_rot(A, B, x);
    for (int i = 0; i < 9; ++i)
        out[i] = clean(x[i]);
}
static void transpose(const double A[9], double out[9]) {
    for (int i = 0; i < 9; ++i)
        out[i] = A[3 * (i % 3) + i / 3];
}
/* Axes of which number `ax` is u. */
static void axes_along(const double u[3], int ax, double S[9]) {
    const int n = (ax + 1) % 3, l = (ax + 2) % 3;
    const double size = sqrt(1 - u[n] * u[n]);
    double next[3];
    for (int i = 0; i < 3; ++i)
        next[i] = ((i == n) - u[n] * u[i]) / size;
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        S[3 * i + ax] = u[i];
        S[3 * i + n] = next[i];
        S[3 * i + l] = u[j] * next[k] - u[k] * next[j];
    }
    for (int i = 0; i < 9; ++i)
        S[i] = clean(S[i]);
}

/* Chooses S and the kind; T = S(parent)'R(0). */
static void choose(soai_body_double *b, soai_alignment which, const double T[9], double S[9]) {
    const int guarded = b->hinge != b->armature; /* for mimic joints (table_fields.h) */
    const int driven = b->armature != 0;
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(S, one, sizeof one);
    if (b->type != SOAI_JOINT_REVOLUTE || b->rotor || guarded) return;
    if (driven && which == SOAI_ALIGN_WITHOUT_MOTORS) return;
    double d[3]; /* the axis in the parent's chosen axes */
    rot_mul(T, b->axis, d);
    for (int i = 0; i < 3; ++i)
        d[i] = clean(d[i]);
    for (int ax = 0; ax < 3; ++ax)
        if (fabs(d[ax]) == 1 && d[(ax + 1) % 3] == 0 && d[(ax + 2) % 3] == 0) {
            transpose(T, S);
            memcpy(b->axis, d, sizeof d);
            b->kind = SOAI_KIND_LEVEL_X + ax;
            return;
        }
    if (b->kind <= SOAI_KIND_REVOLUTE_Z) return;
    int ax = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(b->axis[i]) > fabs(b->axis[ax])) ax = i;
    axes_along(b->axis, ax, S);
    for (int i = 0; i < 3; ++i)
        b->axis[i] = i == ax;
    b->kind = SOAI_KIND_REVOLUTE_X + ax;
}

static int is_level(const soai_body_double *b) {
    return b->kind >= SOAI_KIND_LEVEL_X;
}
static int near_zero(double x, const double p[3]) {
    return fabs(x) <= 1e-15 * (fabs(p[0]) + fabs(p[1]) + fabs(p[2]));
}
/* Slides origins; what a body's slid by goes to frame[i].origin, in its chosen axes. */
static void slide(int nb, soai_body_double *body, soai_frame *frame) {
    static const double zero[10] = {0};
    for (int i = 0; i <= nb; ++i)
        for (int j = 0; j < 3; ++j)
            frame[i].origin[j] = 0;
    /* where a child's axis meets that of its parent: the parent's wish, from its first child that
     * has one */
    for (int i = nb; i >= 1; --i) {
        const soai_body_double *b = body + i, *in = body + b->parent;
        if (!b->parent || !is_level(b) || !is_level(in)) continue;
        const int own = (b->kind - SOAI_KIND_LEVEL_X) % 3, ax = (in->kind - SOAI_KIND_LEVEL_X) % 3;
        if (own != ax && near_zero(b->p[3 - own - ax], b->p))
            frame[b->parent].origin[ax] = b->p[ax];
    }
    for (int i = 1; i <= nb; ++i) {
        soai_body_double *b = body + i;
        double *by = frame[i].origin, *p = b->p, back[3];
        const double *in = frame[b->parent].origin, before[3] = {p[0], p[1], p[2]};
        for (int j = 0; j < 3; ++j)
            p[j] -= in[j];
        if (!is_level(b)) continue;
        const int ax = b->kind - SOAI_KIND_LEVEL_X, n = (ax + 1) % 3, l = (ax + 2) % 3;
        if (b->parent && near_zero(p[n], before) && near_zero(p[l], before)) {
            by[ax] = -p[ax];
            p[n] = p[l] = 0;
        }
        p[ax] += by[ax];
        if (!b->parent || (p[0] == 0 && p[1] == 0 && p[2] == 0)) b->kind = SOAI_KIND_PIVOT_X + ax;
        double M[10];
        for (int j = 0; j < 3; ++j)
            back[j] = -by[j];
        rigid_translate_add(b->M[0], b->M + 1, b->M + 4, back, zero, M);
        memcpy(b->M, M, sizeof M);
    }
}

void soai_regroup(int bodies, soai_body_double *body) {
    for (int i = bodies; i >= 1; --i) {
        soai_body_double *b = body + i, *in = body + b->parent;
        if (is_level(b)) {
            const int ax = (b->kind - SOAI_KIND_LEVEL_X) % 3, n = (ax + 1) % 3, l = (ax + 2) % 3;
            double h[3] = {0}, I[6] = {0}, M[10];
            h[ax] = b->M[1 + ax];
            I[n] = I[l] = b->M[4 + n];
            if (b->parent) {
                rigid_translate_add(b->M[0], h, I, b->p, in->M, M);
                memcpy(in->M, M, sizeof M);
            }
            b->M[0] = b->M[1 + ax] = b->M[4 + n] = 0;
            b->M[4 + l] -= I[l];
        }
        soai_inertia_packs(b->M, b->P);
    }
}
int soai_branch_by_branch(int bodies, const soai_body_double *body) {
    for (int i = 1; i <= bodies; ++i) {
        int a = i - 1;
        while (a > body[i].parent)
            a = body[a].parent;
        if (a != body[i].parent) return 0;
    }
    return 1;
}
int soai_by_columns(int bodies, const soai_body_double *body) {
    enum { FEW_ANCESTORS = 6 }; /* on average */
    long left = (long)FEW_ANCESTORS * bodies;
    for (int i = 1; i <= bodies; ++i)
        for (int a = body[i].parent; a; a = body[a].parent)
            if (--left < 0) return 0;
    return soai_branch_by_branch(bodies, body);
}

/* Where in the work space lanes keep what passes between neighbours.  Branch by branch, a place is
 * free again when the sweep leaves the branch.  A body with one child is read by that one next and
 * by nobody later, so bodies of a chain take two places in turn, beyond those of the bodies further
 * in that have several children.  Each root keeps its own: what it has left inward is read outward
 * (step_smooth).  The projection on mimic joints reads that of every body: no sharing then. */
static int only_child(const soai_body_double *body, int i) { /* bodies numbered branch by branch */
    return body[body[i].parent].child == i && body[i].parent == i - 1;
}
static void places(const soai_view_double *v, soai_body_double *body) {
    if (v->nm || !soai_branch_by_branch(v->nb, body)) return;
    int roots = 0;
    for (int i = 1; i <= v->nb; ++i) {
        if (!body[i].parent) {
            body[i].path = ++roots;
            body[i].path_in = 0;
        }
    }
    for (int i = 1; i <= v->nb; ++i) {
        soai_body_double *b = body + i, *in = body + b->parent;
        if (!b->parent) continue;
        const int chain = only_child(body, i) && in->parent && only_child(body, b->parent) &&
                          body[in->parent].parent;
        b->path_in = in->path;
        if (chain) {
            b->path = in->path_in;
        } else {
            b->path = (in->parent ? in->path : roots) + 1;
        }
    }
}

int soai_level(const soai_view_double *v, soai_alignment which, soai_body_double *body,
               soai_dof_double *dof, soai_frame *frame) {
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(body, v->body, ((size_t)v->nb + 1) * sizeof *body);
    memcpy(dof, v->dof, (size_t)v->nv * sizeof *dof);
    memcpy(frame[0].axes, one, sizeof one);
    for (int i = 1; i <= v->nb; ++i) {
        soai_body_double *b = body + i;
        const double *Sp = frame[b->parent].axes;
        double *S = frame[i].axes, *part[3] = {b->R0, b->R1, b->R2}, back[9], T[9], I[6];
        transpose(Sp, back);
        for (int k = 0; k < 3; ++k)
            product(back, part[k], part[k]);
        for (int k = 0; k < 9; ++k)
            T[k] = clean(b->R0[k] + b->R1[k]);
        choose(b, which, T, S);
        for (int k = 0; k < 3; ++k)
            product(part[k], S, part[k]);
        rot_tmul(Sp, b->p, b->p);
        rot_tmul(Sp, b->slide, b->slide);
        for (int c = 0; c < b->nv; ++c)
            rot_tmul(Sp, dof[b->iv + c].rotor, dof[b->iv + c].rotor);
        transpose(S, back); /* h = S'h, I = S'I S */
        rot_mul(back, b->M + 1, b->M + 1);
        sym_rotate(back, b->M + 4, I);
        memcpy(b->M + 4, I, sizeof I);
    }
    slide(v->nb, body, frame);
    for (int i = 1; i <= v->nb; ++i)
        body[i].levers = 0;
    for (int i = 1; i <= v->nb; ++i)
        if (body[i].kind < SOAI_KIND_PIVOT_X) body[body[i].parent].levers = 1;
    places(v, body);
    int geared = 0;
    for (int i = 1; i <= v->nb; ++i) {
        soai_inertia_packs(body[i].M, body[i].P);
        geared |=
            (body[i].kind <= SOAI_KIND_REVOLUTE_Z || is_level(body + i)) && body[i].armature != 0;
    }
    return geared;
}
