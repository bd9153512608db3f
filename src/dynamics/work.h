/* work.h  the work space behind soa_work, and the ways between the caller's coordinates and the
 *         tree's. */
#ifndef SOAI_WORK_H
#define SOAI_WORK_H
#include "../model/model_internal.h"
#include "../sweep/compiled_sweeps.h"
#include "soa/dynamics.h"

/* The arrays of a double kernel, as compiled_sweeps.c lays them out. */
#define SOAI_NUMBER SOAI_DOUBLE
#include "../sweep/work_space.h"

/* What stands in the arrays for readers: one thing at a time, nothing once a call has begun to
 * write there. */
typedef enum soai_readable {
    SOAI_READ_NOTHING,
    SOAI_READ_KINEMATICS, /* Rw, pw, V, c, A, of soa_kinematics                   */
    SOAI_READ_FORCES,     /* f, of soa_rnea                                       */
    SOAI_READ_SMOOTHER,   /* the sweeps' arrays, tv, tt, user, B, of soa_smoother */
    SOAI_READ_COVARIANCE  /* the same, and E, Delta-                              */
} soai_readable;

struct soa_work {
    const soa_model *model;
    const soai_kernels *k, *kf; /* double, float */
    soai_view_double view;
    soai_view_double aligned; /* for aba, rnea and crba: bodies in the frames chosen by
                               * aligned_frames.c */
    soai_view_float aligned_f;
    soai_frame *frames; /* those frames */
    double *factors;    /* of their inertias, src/table/inertia_factors.h */
    float *factors_f;   /* rounded */
    int by_columns;     /* the tree has few ancestors: mass.h takes less time than crba.h */
    const soai_view_double *articulated; /* the tables of the articulated inertias in w */
    kernel_work w;
    void *w_f; /* struct of pointers of the float kernel */
    void *from_heap;
    int body; /* named by the last failure */
    soai_readable readable;
    unsigned taken; /* how many calls have taken the arrays */
    /* scratch, tree coordinates */
    double *zero;              /* max(tq, tv) zeros, with unit quaternions in neutral_q */
    double *neutral_q;         /* the caller's nq */
    double *tq, *tv, *ta, *tt; /* expanded q, v, a and a torque */
    double *user;              /* nv, a vector in the caller's coordinates */
    double *wide;              /* 6 x tv */
    double *fext;              /* 6 x nb */
    float *fext_f;
    int *path;      /* 4 (nb + 1): lists of bodies, see task_frames.h */
    double *matrix; /* mimic models only: 2 tv^2 or tv x 10 nb */
    float *tq_f, *tv_f, *ta_f, *tt_f, *zero_f;
    float *matrix_f; /* mimic models only: tv^2 */
};

/* Whoever begins to write to the arrays. */
static inline void soai_work_take(soa_work *w) {
    w->readable = SOAI_READ_NOTHING;
    ++w->taken;
}
/* A public call that computes by others: what those leave is of its own choice of q, v and a, and
 * not for its caller's readers.  Nothing changes if none of them found its q good. */
static inline unsigned soai_work_taken(const soa_work *w) {
    return w ? w->taken : 0;
}
static inline soa_status soai_work_keep(soa_work *w, unsigned before, soa_status status) {
    if (w && w->taken != before) w->readable = SOAI_READ_NOTHING;
    return status;
}

/* Articulated inertias at q (tree coordinates; NULL: the poses in w are used), in the user's frames;
 * 0, or the body whose hinge moves no inertia. */
static inline int soai_work_articulate(soa_work *w, const double *q) {
    w->articulated = &w->view;
    return w->k->articulate(&w->view, &w->w, q);
}

/* y = M^-1 x by forward dynamics at rest, without gravity, friction and springs, in tree
 * coordinates; 0, or the body whose hinge moves no inertia.  y NULL: for what the filter leaves. */
static inline int soai_work_accelerate(soa_work *w, const double *q, const double *x, double *y) {
    soai_view_double view = w->aligned;
    view.losses = 0;
    memset(view.gravity, 0, sizeof view.gravity);
    return w->k->aba(&view, &w->w, q, w->zero, x, NULL, y);
}
/* Articulated inertias at q on the aligned tables, for products with M^-1 alone: no poses in the
 * user's frames are left.  What soai_work_articulate returns. */
static inline int soai_work_articulate_aligned(soa_work *w, const double *q) {
    w->w.keeps = 1;
    const int body = soai_work_accelerate(w, q, w->zero, NULL);
    w->w.keeps = 0;
    w->articulated = &w->aligned;
    return body;
}

/* A wrench on a body, at the body's origin and in its axes: into the frame chosen for the body, and
 * back. */
static inline void soai_wrench_to_chosen(const soai_frame *frame, const double in[6],
                                         double out[6]) {
    double n[3], f[3];
    rot_tmul(frame->axes, in, n);
    rot_tmul(frame->axes, in + 3, f);
    v3_cross_add(f, frame->origin, n); /* n - d x f, d the chosen origin */
    for (int j = 0; j < 3; ++j) {
        out[j] = n[j];
        out[3 + j] = f[j];
    }
}
static inline void soai_wrench_from_chosen(const soai_frame *frame, const double in[6],
                                           double out[6]) {
    double n[3] = {in[0], in[1], in[2]};
    double f[3] = {in[3], in[4], in[5]};
    v3_cross_add(frame->origin, f, n); /* n + d x f */
    rot_mul(frame->axes, n, out);
    rot_mul(frame->axes, f, out + 3);
}
/* The same for the wrenches of all bodies, in place; NULL stays NULL.  Most bodies have none. */
static inline const double *soai_wrenches_to_chosen(const soa_work *w, double *fext) {
    for (int i = 1; fext && i <= w->aligned.nb; ++i) {
        double *f = fext + 6 * (i - 1);
        if (f[0] != 0 || f[1] != 0 || f[2] != 0 || f[3] != 0 || f[4] != 0 || f[5] != 0)
            soai_wrench_to_chosen(w->frames + i, f, f);
    }
    return fext;
}

static inline int soai_is_axes(soa_axes axes) {
    return axes == SOA_AXES_WORLD || axes == SOA_AXES_BODY;
}

/* Finds the body at fault for number j of the caller's q (or v). */
int soai_body_of_q(const soa_model *m, int j);
int soai_body_of_v(const soa_model *m, int j);

/* Checks q (unit quaternions too) and up to three v-like vectors; NULLs pass. Sets *body. */
soa_status soai_check_state(const soa_model *m, const double *q, const double *v, const double *a,
                            const double *t, int *body);
soa_status soai_check_state_f(const soa_model *m, const float *q, const float *v, const float *a,
                              const float *t, int *body);

/* How a call of another room starts: checks, then the state in tree coordinates (zeros where the
 * caller gave NULL) and the wrenches in body axes at body origins (NULL if there are none). */
typedef struct soai_inputs {
    const double *q, *v, *a, *tau, *fext;
} soai_inputs;
soa_status soai_enter_forward(const soa_model *m, soa_work *w, const soa_input *input,
                              soai_inputs *in); /* a of the input is ignored */
soa_status soai_enter_inverse(const soa_model *m, soa_work *w, const soa_input *input,
                              soai_inputs *in); /* tau of the input is ignored */
/* soa_compliance with articulated inertias standing; U and D still stand afterwards. */
void soai_compliance(soa_work *w, const int *frames, int count, soa_axes axes, double *Omega);
/* Back to the caller's coordinates: accelerations, torques, Gamma' X Gamma. */
void soai_user_motion(const soa_work *w, const double *tree, double *v);
void soai_user_torque(const soa_work *w, const double *tree, double *tau);
void soai_user_matrix(const soa_work *w, const double *tree, double *out);
/* soa_aba, which then leaves its articulated inertias (on the aligned tables) for products with
 * M^-1. */
soa_status soai_aba_articulated(const soa_model *m, soa_work *w, const soa_input *input,
                                double *qdd);
/* soa_crba, and soa_minv_mul, in the user's frames: for the model of
 * src/kinematics/jacobian_products.c, whose tables change from call to call, while the aligned ones
 * are made with the work space.  The second leaves its articulated inertias. */
soa_status soai_crba_user(const soa_model *m, soa_work *w, const double *q, double *M);
soa_status soai_minv_mul_articulated(const soa_model *m, soa_work *w, const double *q,
                                     const double *x, double *y);
/* What soa_aba does before its sweep: checks, then the state as the sweeps take it (wrenches in
 * body axes at body origins, NULL if there are none).  The arrays belong to the work space or to
 * the caller.  For the forms that know plain trees only: SOA_E_MIMIC, SOA_E_JOINT (an exact
 * rotor). */
soa_status soai_forward_inputs(const soa_model *m, soa_work *w, const soa_input *input,
                               soai_inputs *in);

#endif
