/* table_fields.h  the model as the sweeps see it: tables of constants, one row per body and per
 *                 degree of freedom.
 *
 * Included once per constant type (SOAI_KONST double or float, suffix in SOAI_VIEW(name)): the
 * model's buffer holds both tables, the double ones being the truth and the float ones their
 * rounding.  A generated file holds the same tables as `static const` arrays, so that the compiler
 * can specialise the same sweeps.
 *
 * Row 0 is the world.  Indices q, v count tree coordinates (every joint its own, mimic joints
 * too). */

#ifndef SOAI_VIEW_COMMON
#define SOAI_VIEW_COMMON
/* Sums over the bodies beyond one start with its own inertia, put there by its last child, which
 * comes first inward: in the same step with what it brings, or before it, so that in generated code
 * the steps of several children are alike. */
enum { SOAI_STARTS_WITH = 1, SOAI_STARTS_BEFORE = 2 };
/* `own` of a level body in generated code, see steps.h: 1 + the axis along which P is the body's
 * own M, in the bits of P_AXIS; P_SPARED at the child that therefore need not leave it there. */
enum { SOAI_P_AXIS = 3, SOAI_P_SPARED = 4 };
/* How the joint map H* of a body is used in the sweeps; see joint.h. */
enum {
    /* H* = [e_x; 0]: joints about a coordinate axis, most there are, cost less.  No exact rotor; an
     * armature only in aligned tables for sweeps with packed inertias (aligned_frames.c).  The same
     * for LEVEL and PIVOT */
    SOAI_KIND_REVOLUTE_X,
    SOAI_KIND_REVOLUTE_Y,
    SOAI_KIND_REVOLUTE_Z,
    SOAI_KIND_REVOLUTE,  /* H* = [axis; 0]                          */
    SOAI_KIND_PRISMATIC, /* H* = [0; axis]                          */
    SOAI_KIND_SPHERICAL, /* H* = [1; 0], 3 columns                  */
    SOAI_KIND_FREE,      /* H* = 1, 6 columns                       */
    SOAI_KIND_GENERAL,   /* any H*, 6 x nv, perhaps depending on q  */
    SOAI_KIND_LEVEL_X,   /* H* = [+-e_x; 0], axes parallel to the parent's at q = 0: tables
                        * of aligned_frames.c only */
    SOAI_KIND_LEVEL_Y,
    SOAI_KIND_LEVEL_Z,
    SOAI_KIND_PIVOT_X, /* the same, and p is not read: it is 0, or the parent is the world */
    SOAI_KIND_PIVOT_Y,
    SOAI_KIND_PIVOT_Z,
    SOAI_KIND_COUNT
};
#endif

typedef struct SOAI_VIEW(body) {
    int parent, type, kind, nv;
    int iq, iv, id; /* first q, first v, first entry of its D block (nv x nv) */
    int rotor;      /* nonzero: an exact rotor sits on the parent              */
    int child;      /* the last of its children, 0 for a tip                   */
    int starts;     /* how it starts its parent's sums, 0 if it does not       */
    int levers;     /* nonzero: some child is not a pivot (joint.h)            */
    int run;        /* bodies run ... this one are each the parent of the next */
    int end;        /* one past the last v of the bodies beyond and its own    */
    /* where in the work space lanes keep what passes between neighbours, and the parent's */
    int path, path_in;
    /* generated code: which numbers of P are M's, 0 elsewhere.  An even number of integers stands
     * here, so that both constant types have them at the same places */
    int own;
    /* R(q) = R0 + cos q R1 + sin q R2; R0 + R1 is the placement's rotation */
    SOAI_KONST R0[9], R1[9], R2[9];
    SOAI_KONST p[3];    /* the placement's translation */
    SOAI_KONST axis[3]; /* in body axes */
    /* motion of the origin per unit of the sliding coordinate, parent axes */
    SOAI_KONST slide[3];
    SOAI_KONST M[10];    /* m, h = m c, I about the origin */
    SOAI_KONST armature; /* 1-dof joints: G^2 Jm */
    /* 1-dof joints: the same and, of mimic joints and their leaders, the guard (mimic) */
    SOAI_KONST hinge;
    SOAI_KONST P[24]; /* M again, as six packs (algebra.h)                                    */
} SOAI_VIEW(body);

typedef struct SOAI_VIEW(dof) {
    SOAI_KONST armature; /* G^2 Jm: added to D (and to the diagonal of the mass matrix)  */
    SOAI_KONST damping, friction_positive, friction_negative, stiffness, rest;
    SOAI_KONST H[6];     /* column of H* where it is constant (kind general)              */
    SOAI_KONST rotor[3]; /* exact rotor: Jm G u, parent axes                              */
} SOAI_VIEW(dof);

/* The tree with its followers set free may have no forward dynamics where the machine has one
 * (massless links).  There followers and leaders are given a guard, an inertia that D gets and M
 * has not, and each leader a row of its own after the followers': follower = leader, ratio = 0,
 * hold = 1 / (all that was given), by which it is taken off again (articulate.h). */
typedef struct SOAI_VIEW(mimic) {
    int follower, leader; /* tree degrees of freedom: v_follower = ratio v_leader */
    SOAI_KONST ratio, hold;
} SOAI_VIEW(mimic);

typedef struct SOAI_VIEW(view) {
    /* bodies without the world, tree q and v, entries of all D blocks, rows of mimic */
    int nb, nq, nv, nd, nm;
    int losses; /* nonzero: some dof has friction or a spring */
    int stuck;  /* a body whose hinge moves no inertia at any q, or 0 */
    int geared; /* nonzero: some joint on an axis has an armature; aligned tables only */
    SOAI_KONST gravity[3];
    const SOAI_VIEW(body) * body; /* nb + 1 */
    const SOAI_VIEW(dof) * dof;   /* nv     */
    const SOAI_VIEW(mimic) * mimic;
} SOAI_VIEW(view);
