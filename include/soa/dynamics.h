/* soa/dynamics.h  every open-chain and tree algorithm.
 *
 * Calls take: model, work space, inputs, outputs.  One work space per thread; the model may be
 * shared and must outlive its work spaces.  Inputs are checked first; on any status but SOA_OK no
 * output is written and soa_work_failed_body() names the body at fault, if there is one.
 *   NULL     q: neutral; v, a, tau: zero; wrenches, with a count of 0: none.  Batches and float
 *            calls need q.  Other pointers are needed unless the text says otherwise.
 *   overlap  Outputs must not overlap inputs or each other unless the text says so.
 *   status   SOA_E_ARGUMENT: a pointer is missing, a number is out of range, the work space is
 *            another model's.  SOA_E_NOT_FINITE.  SOA_E_QUATERNION: the square of its length is off
 *            1 by more than 1e-6 (float: 1e-5).  Calls that apply M^-1 (soa_minv*, soa_aba*,
 *            compliance, operational space): SOA_E_HINGE_SINGULAR too; each mimic joint costs them
 *            O(n) more.
 * Matrices are dense, row by row.  n is the number of bodies, d the depth of the tree. */
#ifndef SOA_DYNAMICS_H
#define SOA_DYNAMICS_H

#include "soa/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soa_work soa_work;

/* Work space: ask for the size, give the memory (aligned to 64 bytes), or let create take it from
 * the heap.  Memory that is too small or not aligned, and a heap that has none, are
 * SOA_E_MEMORY. */
SOA_API size_t soa_work_size(const soa_model *model);
SOA_API soa_status soa_work_init(const soa_model *model, void *memory, size_t size,
                                 soa_work **work);
SOA_API soa_status soa_work_create(const soa_model *model, soa_work **work);
SOA_API void soa_work_free(soa_work *work); /* only for soa_work_create */
/* Body named by the last failed call, or -1 (SOA_E_ARGUMENT may leave what stood there); and the
 * instruction set the calls run on ("portable", "avx2"). */
SOA_API int soa_work_failed_body(const soa_work *work);
SOA_API const char *soa_instruction_set(void);

typedef enum soa_axes { SOA_AXES_WORLD, SOA_AXES_BODY } soa_axes;

/* An external wrench [n; f] acting on the body that carries `frame`, at that frame's origin.  World
 * axes: the numbers stay fixed in the world when q varies (derivatives follow that); body axes:
 * fixed in the frame's own axes. */
typedef struct soa_wrench {
    int frame;
    soa_axes axes;
    double value[6];
} soa_wrench;

/* The state of a machine and what acts on it, for calls that need more than a few of these.  Each
 * call says which fields it reads; the others are ignored.  A struct of zeros is the default: the
 * neutral q, everything else zero, no wrenches.
 *     soa_aba_derivatives(model, work, &(soa_input){.q = q, .v = v, .tau = tau}, dqdd_dq, dqdd_dv);
 * The arrays belong to the caller.  A missing struct (NULL) is SOA_E_ARGUMENT. */
typedef struct soa_input {
    const double *q;            /* nq positions; NULL: neutral                              */
    const double *v;            /* nv velocities; NULL: zero                                */
    const double *a;            /* nv accelerations, for inverse dynamics; NULL: zero       */
    const double *tau;          /* nv torques and forces, for forward dynamics; NULL: zero  */
    const soa_wrench *wrenches; /* external wrenches; NULL with a count of 0: none          */
    int wrench_count;
    double t; /* s, the time that drives of constraints see; default 0 */
} soa_input;

/* --- kinematics ------------------------------------------------------------------------------- */
/* Poses, velocities and accelerations of all bodies, kept in the work space for the readers below
 * until the next call that takes q in double precision and finds it good, whichever it is; then
 * they return SOA_E_ORDER.  v, a may be NULL.  O(n). */
SOA_API soa_status soa_kinematics(const soa_model *model, soa_work *work, const double *q,
                                  const double *v, const double *a);
/* The readers, from here to soa_jacobian_dot_v: frames are 0 (the world) to soa_model_frame_count -
 * 1.  SOA_E_ARGUMENT where there is no such frame, SOA_E_ORDER where no kinematics stand in the
 * work space.
 * Pose of a frame in the world. */
SOA_API soa_status soa_pose(const soa_model *model, const soa_work *work, int frame,
                            soa_frame *pose);
/* [w; v] of the frame at its origin, in world axes or the frame's own. */
SOA_API soa_status soa_velocity(const soa_model *model, const soa_work *work, int frame,
                                soa_axes axes, double V[6]);
/* Spatial acceleration (body-axis rate of V, FO00's and R87's), or the classical one a person
 * measures: classical = spatial + [0; w x v].  Without gravity. */
SOA_API soa_status soa_acceleration_spatial(const soa_model *model, const soa_work *work, int frame,
                                            soa_axes axes, double A[6]);
SOA_API soa_status soa_acceleration_classical(const soa_model *model, const soa_work *work,
                                              int frame, soa_axes axes, double A[6]);
/* J (6 x nv), J v, J' f and (dJ/dt) v at the frame's origin, in the axes asked for, angular rows
 * first.  They read the kinematics in the work space; jdot_v is the classical acceleration for a =
 * 0.  J O(d), the others O(d), no J formed. */
SOA_API soa_status soa_jacobian(const soa_model *model, soa_work *work, int frame, soa_axes axes,
                                double *J);
SOA_API soa_status soa_jacobian_mul(const soa_model *model, soa_work *work, int frame,
                                    soa_axes axes, const double *v, double V[6]);
SOA_API soa_status soa_jacobian_transpose_mul(const soa_model *model, soa_work *work, int frame,
                                              soa_axes axes, const double f[6], double *tau);
SOA_API soa_status soa_jacobian_dot_v(const soa_model *model, soa_work *work, int frame,
                                      soa_axes axes, double A[6]);

/* --- inverse dynamics ------------------------------------------------------------------------- */
/* tau = M a + C v + g + friction + spring - J' wrenches.  O(n). */
SOA_API soa_status soa_rnea(const soa_model *model, soa_work *work, const double *q,
                            const double *v, const double *a, const soa_wrench *wrenches,
                            int wrench_count, double *tau);
/* C v + g + friction + spring: rnea with a = 0.  Gravity torque alone (no spring).  O(n). */
SOA_API soa_status soa_bias_torque(const soa_model *model, soa_work *work, const double *q,
                                   const double *v, double *tau);
SOA_API soa_status soa_gravity_torque(const soa_model *model, soa_work *work, const double *q,
                                      double *tau);
/* C(q,v) w with v and w different: C is the factor with dM/dt - 2 C skew.  w NULL: zero.  out may
 * be v or w.  O(n). */
SOA_API soa_status soa_coriolis_mul(const soa_model *model, soa_work *work, const double *q,
                                    const double *v, const double *w, double *out);
/* Spatial force [n; f] that the parent's side exerts through the joint of `body` (1 to n), at its
 * origin, in body axes, as of the last soa_rnea (or soa_bias_torque).  Another call that takes q as
 * doubles ends that: SOA_E_ORDER. */
SOA_API soa_status soa_joint_force(const soa_model *model, const soa_work *work, int body,
                                   double f[6]);

/* --- mass matrix ------------------------------------------------------------------------------ */
/* M (nv x nv, both triangles), reflected and exact rotors included, by composite bodies; and the
 * same by R87 (32) as it is printed, slower: a judge of the first.  O(n d). */
SOA_API soa_status soa_crba(const soa_model *model, soa_work *work, const double *q, double *M);
SOA_API soa_status soa_mass_r87(const soa_model *model, soa_work *work, const double *q, double *M);
/* y = M x and y = M^-1 x, nv numbers each; neither matrix is formed.  y may be x.  O(n). */
SOA_API soa_status soa_mass_mul(const soa_model *model, soa_work *work, const double *q,
                                const double *x, double *y);
SOA_API soa_status soa_minv_mul(const soa_model *model, soa_work *work, const double *q,
                                const double *x, double *y);
/* M^-1, R87 (83) carried over to trees, where unrelated branches couple too.  O(n^2), the size of
 * the answer. */
SOA_API soa_status soa_minv(const soa_model *model, soa_work *work, const double *q, double *Minv);

/* --- forward dynamics ------------------------------------------------------------------------- */
/* qdd = M^-1 (tau - bias + J' wrenches), by articulated bodies.  O(n). */
SOA_API soa_status soa_aba(const soa_model *model, soa_work *work, const double *q, const double *v,
                           const double *tau, const soa_wrench *wrenches, int wrench_count,
                           double *qdd);

/* --- operational space ------------------------------------------------------------------------ */
/* Compliance Omega = J M^-1 J' (6 count x 6 count) of frames, J being the rows of soa_jacobian of
 * each: the accelerations of all frames that wrenches on them cause, the coupling between branches
 * included.  RJK91 (20), from base to tips; no J, M or inverse is formed.  O(n) for articulated
 * inertias, then O(d) for one frame; for several, one more step for each body on their paths and a
 * 6 x 6 product for each pair.  Exact rotors are part of it; each mimic joint costs O(n).  count >=
 * 1; frames may be repeated; one fixed to the world has zero rows. */
SOA_API soa_status soa_compliance(const soa_model *model, soa_work *work, const double *q,
                                  const int *frames, int count, soa_axes axes, double *Omega);

/* A frame and those of its six directions that are controlled: bit r of `rows` stands for row r of
 * its Jacobian. */
enum { SOA_ROWS_ALL = 0, SOA_ROWS_ANGULAR = 7, SOA_ROWS_LINEAR = 56 };
typedef struct soa_task {
    int frame;
    soa_axes axes;
    unsigned rows; /* SOA_ROWS_ALL, or bits 0 to 5 */
} soa_task;

/* What soa_operational_space writes, r being the rows of all tasks together, in their order; NULL:
 * not wanted.  Khatib's signs:
 *   F = lambda a + mu + p            force that drives the task and gives it the acceleration a
 *   tau = J' F + N' tau0             joint torques that do so; tau0 is any and does not move the
 *                                    task
 * a is the classical acceleration of the frames, J vdot + (dJ/dt) v (soa_acceleration_classical,
 * soa_jacobian_dot_v).  Friction and springs are in neither mu nor p: what overcomes them is added
 * to tau. */
typedef struct soa_operational {
    double *jacobian; /* J                                                r x nv */
    double *lambda;   /* Lambda = (J M^-1 J')^-1                          r x r */
    double *mu;       /* Lambda (J M^-1 C v - (dJ/dt) v)                  r       Coriolis and
                       * centrifugal */
    double *p;        /* Lambda J M^-1 g                                  r       gravity */
    double *jbar;     /* M^-1 J' Lambda                                   nv x r  dynamically
                       * consistent inverse */
    double *null;     /* N' = 1 - J' jbar', on torques                    nv x nv its transpose acts
                       * on motions */
} soa_operational;

/* What soa_operational_space reads.  Zeros are the defaults of q, v and damping. */
typedef struct soa_operational_input {
    const double *q, *v;   /* NULL: neutral, zero */
    const soa_task *tasks; /* needed */
    int task_count;        /* 1 or more */
    double damping;        /* > 0: an answer near singular tasks too; 0: such tasks are refused */
} soa_operational_input;
/* Memory (aligned as for double) that soa_operational_space needs for `count` tasks, 1 or more; 0
 * if there is no such size.  It holds nothing between calls. */
SOA_API size_t soa_operational_space_size(const soa_model *model, int count);
/* All of it at once.  O(n) for Lambda, mu and p; jbar and J the size of the answer, O(n) per row;
 * null O(nv^2 r).  M and its inverse are not formed.  SOA_E_MEMORY: `memory` is too small or
 * misaligned.
 * rcond (may be NULL): reciprocal condition number of Omega in the 1-norm, in units that make the
 * mean of its diagonal 1 over all rows of the frames, angular and linear ones apart (so the unit of
 * length does not matter); rows in which the frames hardly move give a small one too.  Below 1e-12
 * the task counts as singular: SOA_E_SINGULAR, and only rcond is written.  damping > 0 asks for an
 * answer nevertheless: Lambda is the inverse of Omega with damping, in those units, added to its
 * diagonal, and all results follow from that Lambda. */
SOA_API soa_status soa_operational_space(const soa_model *model, soa_work *work,
                                         const soa_operational_input *input, void *memory,
                                         size_t size, const soa_operational *out, double *rcond);

/* --- energy, momentum, identification --------------------------------------------------------- */
/* Moving bodies only.  Potential: gravity with zero at the world's origin, plus springs.  Either
 * result may be NULL.  All calls of this part but the regressor and the parameters are O(n). */
SOA_API soa_status soa_energy(const soa_model *model, soa_work *work, const double *q,
                              const double *v, double *kinetic, double *potential);
/* Of the moving bodies, world axes; either result may be NULL.  Zero where nothing has mass. */
SOA_API soa_status soa_centre_of_mass(const soa_model *model, soa_work *work, const double *q,
                                      const double *v, double com[3], double velocity[3]);
/* [angular; linear] about the centre of mass, world axes, exact rotors included; com may be
 * NULL. */
SOA_API soa_status soa_momentum(const soa_model *model, soa_work *work, const double *q,
                                const double *v, double h[6], double com[3]);
/* A (6 x nv) with h = A v. */
SOA_API soa_status soa_centroidal_momentum_matrix(const soa_model *model, soa_work *work,
                                                  const double *q, double *A);
/* Y (nv x 10 n) with M a + C v + g (no rotors, friction, springs) = Y pi; pi of a body: m, m c (3),
 * and the inertia about the body's origin xx yy zz xy xz yz.  soa_model_inertial_parameters gives
 * the model's own pi (10 n numbers).  O(n d) and the size of Y. */
SOA_API soa_status soa_regressor(const soa_model *model, soa_work *work, const double *q,
                                 const double *v, const double *a, double *Y);
SOA_API soa_status soa_model_inertial_parameters(const soa_model *model, double *pi);

/* --- derivatives (nv x nv each, row i: output, column j: input; q in the tangent space) ------- */
/* Read q, v, wrenches and a (rnea) or tau (aba).  Any output may be NULL.  Coulomb friction's jump
 * is left out.  At most 64 wrenches in world axes (SOA_E_ARGUMENT).  O(n d) and the size of the
 * answer. */
SOA_API soa_status soa_rnea_derivatives(const soa_model *model, soa_work *work,
                                        const soa_input *input, double *dtau_dq, double *dtau_dv);
/* d qdd / d tau is M^-1 (soa_minv).  O(n^2). */
SOA_API soa_status soa_aba_derivatives(const soa_model *model, soa_work *work,
                                       const soa_input *input, double *dqdd_dq, double *dqdd_dv);

/* --- batches: many states of one model -------------------------------------------------------- */
/* Work space of a batch (one per thread); states run 4 (double) or 8 (float) at a time in SIMD
 * lanes.  The bits of a state's result do not depend on how many states are asked for or where the
 * range starts.  Memory as for a soa_work: aligned to 64 bytes, else SOA_E_MEMORY. */
typedef struct soa_batch soa_batch;
SOA_API size_t soa_batch_size(const soa_model *model);
SOA_API soa_status soa_batch_init(const soa_model *model, void *memory, size_t size,
                                  soa_batch **batch);
SOA_API soa_status soa_batch_create(const soa_model *model, soa_batch **batch);
SOA_API void soa_batch_free(soa_batch *batch); /* only for soa_batch_create */
/* State that the last failed call found bad, and the body it names; -1 if none. */
SOA_API long soa_batch_failed_state(const soa_batch *batch);
SOA_API int soa_batch_failed_body(const soa_batch *batch);
/* Arrays hold state after state: q count x nq, the others count x nv, fext count x n x 6 (body
 * axes, body origin) or NULL; M count x nv x nv.  v, a, tau may be NULL, q not.  A failure stops at
 * its group of lanes: earlier groups are written, later ones are not. */
SOA_API soa_status soa_aba_batch(const soa_model *model, soa_batch *batch, long count,
                                 const double *q, const double *v, const double *tau,
                                 const double *fext, double *qdd);
SOA_API soa_status soa_rnea_batch(const soa_model *model, soa_batch *batch, long count,
                                  const double *q, const double *v, const double *a,
                                  const double *fext, double *tau);
SOA_API soa_status soa_crba_batch(const soa_model *model, soa_batch *batch, long count,
                                  const double *q, double *M);

/* --- single precision ------------------------------------------------------------------------- */
/* The same with float numbers, and the model's rounded to float.  Over 1,000 random trees of up to
 * 30 links tau and M are within 4e-6 of double (of their largest number); qdd is as good as M is
 * well conditioned: the torques it needs are within 2e-4 of the largest of M qdd. */
SOA_API soa_status soa_aba_batch_f(const soa_model *model, soa_batch *batch, long count,
                                   const float *q, const float *v, const float *tau,
                                   const float *fext, float *qdd);
SOA_API soa_status soa_rnea_batch_f(const soa_model *model, soa_batch *batch, long count,
                                    const float *q, const float *v, const float *a,
                                    const float *fext, float *tau);
SOA_API soa_status soa_crba_batch_f(const soa_model *model, soa_batch *batch, long count,
                                    const float *q, float *M);
/* One state at a time, scalar code (targets without vector units). fext: n x 6, body axes, body
 * origin, or NULL. */
SOA_API soa_status soa_aba_f(const soa_model *model, soa_work *work, const float *q, const float *v,
                             const float *tau, const float *fext, float *qdd);
SOA_API soa_status soa_rnea_f(const soa_model *model, soa_work *work, const float *q,
                              const float *v, const float *a, const float *fext, float *tau);
SOA_API soa_status soa_crba_f(const soa_model *model, soa_work *work, const float *q, float *M);

#ifdef __cplusplus
}
#endif
#endif
