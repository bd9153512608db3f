/* compiled_sweeps.h  the compiled sweeps of one number type and instruction set, as a table of
 *                    functions.
 *
 * compiled_sweeps.c is compiled once per number type and instruction set; each object exports one
 * table.  Pointers to numbers are void here because `real` differs from table to table; views are
 * soai_view_double or soai_view_float. */
#ifndef SOAI_KERNELS_H
#define SOAI_KERNELS_H
#include <stddef.h>

struct soai_op;
struct soai_tips;
struct soai_task_frames;
struct soai_segments;

/* One sweep of a planned expression (operator_sweep.h). */
typedef int soai_operator_sweep_fn(const void *view, void *work, int inward,
                                   const struct soai_op *ops, int count,
                                   const struct soai_tips *tips, const double *thd,
                                   const double *fext);

/* One pass of planned steps on the aligned tables (operator_steps.h). */
struct soai_step;
struct soai_step_data;
typedef int soai_operator_steps_fn(const void *view, void *work, int inward,
                                   const struct soai_step *steps, int count,
                                   const struct soai_step_data *data);

typedef struct soai_kernels {
    const char *instruction_set;
    int lanes;
    int armatures; /* may aligned joints have an armature? (hinge.h) */
    size_t real_bytes;
    size_t work_bytes;                      /* of the struct of pointers         */
    size_t (*work_reals)(const void *view); /* numbers its arrays need           */
    void (*work_place)(const void *view, void *work, void *memory);
    /* each returns 0 or the body at fault */
    int (*rnea)(const void *view, void *work, const void *q, const void *v, const void *a,
                const void *fext, void *tau);
    int (*aba)(const void *view, void *work, const void *q, const void *v, const void *tau,
               const void *fext, void *vdot);
    /* for trees of few ancestors, soai_by_columns */
    int (*mass)(const void *view, void *work, const void *q, void *M);
    int (*crba)(const void *view, void *work, const void *q, void *M); /* for any tree */
    /* src/sweep/ud.h, not for lanes; factors of src/table/inertia_factors.h */
    int (*aba_ud)(const void *view, void *work, const void *factors, const void *q, const void *v,
                  const void *tau, const void *fext, void *vdot);
    /* P of a body as 36 numbers, after aba_ud */
    void (*ud_inertia)(const void *view, const void *work, const void *factors, int body, void *P);
    /* P of a body as 36 numbers, whatever its layout; not for lanes */
    void (*inertia)(const void *work, int body, void *P);
    /* the rest stands only in the tables of double (and of the tests' complex and quad) */
    int (*mass_r87)(const void *view, void *work, const void *q, void *M);
    int (*aba_spatial)(const void *view, void *work, const void *q, const void *v, const void *tau,
                       const void *fext, void *vdot); /* leaves spatial V and A */
    /* with the mimic joints' part */
    int (*articulate)(const void *view, void *work, const void *q);
    void (*minv_mul)(const void *view, void *work, const void *x, void *y);
    /* the halves of minv_mul, without mimic joints */
    void (*minv_filter)(const void *view, void *work, const void *x);
    void (*minv_smooth)(const void *view, void *work, void *y);
    void (*minv_form)(const void *view, void *work, void *M);
    void (*compliance)(const void *view, void *work, const struct soai_task_frames *frames,
                       void *Omega);
    void (*positions)(const void *view, void *work, const void *q);
    void (*mass_mul)(const void *view, void *work, const void *x, void *y);
    int (*kinematics)(const void *view, void *work, const void *q, const void *v, const void *a);
    void (*jacobian)(const void *view, void *work, int body, const void *point, void *J);
    void (*momentum)(const void *view, void *work, const void *v, void *kinetic, void *h);
    void (*first_moment)(const void *view, void *work, void *mass, void *moment);
    void (*centroidal)(const void *view, void *work, const void *com, void *A);
    int (*coriolis_mul)(const void *view, void *work, const void *q, const void *v, const void *x,
                        void *out);
    void (*regressor)(const void *view, void *work, void *Y);
    int (*rnea_derivatives)(const void *view, void *work, const void *q, const void *v,
                            const void *a, const void *fext, const void *wrench, int wrenches,
                            void *dq, void *dv);
    /* src/sweep/diagonalised.h, after articulate */
    void (*factor_mul)(const void *view, void *work, int factor, const void *x, void *y);
    void (*diagonal_bias)(const void *view, void *work, const void *nu, void *v, void *mu);
    /* src/sweep/two_sweep.h: serial chains; factors of src/table/inertia_factors.h */
    int (*two_sweep)(const void *view, void *work, const void *factors, const void *q,
                     const void *v, const void *tau, const void *fext, void *vdot);
    void (*two_sweep_compliance)(const void *work, int body, void *C);
    soai_operator_sweep_fn *exec;  /* double only */
    soai_operator_steps_fn *steps; /* double only */
    /* double only: one task of divide and conquer (src/sweep/segment_sweeps.h) */
    void (*segment)(const void *view, void *work, const struct soai_segments *segments, int sweep,
                    int n, const double *q, const double *v, const double *tau, const double *fext,
                    double *vdot);
    /* lanes only; pack: `count` numbers of each of up to `lanes` states (stride apart; states past
     * `states` repeat the last); returns 1 if all are finite */
    int (*mass_columns)(const void *view, void *work, const void *q, void *M);
    int (*pack)(const void *from, long stride, int count, int states, void *to);
    void (*unpack)(const void *from, int count, int states, void *to, long stride);
    /* n x n each, from lower triangles */
    void (*unpack_symmetric)(const void *from, int n, int states, void *to);
    /* into the frames of aligned_frames.c */
    void (*level)(const void *frames, int bodies, void *wrenches);
} soai_kernels;

typedef enum soai_number {
    SOAI_K_DOUBLE,
    SOAI_K_FLOAT,
    SOAI_K_DOUBLE_LANES,
    SOAI_K_FLOAT_LANES
} soai_number;

/* The best table for this processor; SOA_INSTRUCTION_SET=portable in the environment asks for the
 * plain one. */
const soai_kernels *soai_kernels_for(soai_number number);

#endif
