/* soa/dynamics.h  the algorithms for open chains and trees.
 *
 * Functions take the model, a work space, inputs and outputs, in this order.  Each thread needs a
 * work space.  The model may be shared and must outlive its work spaces.  Inputs are checked first.
 * On any status other than SOA_OK no output is written, and soa_work_failed_body() is the body at
 * fault, if there is one.
 *   NULL     q: neutral; v, a, tau: zero; wrenches with a count of 0: none.  Batches and float
 *            functions need q.  Other pointers are needed unless the text says otherwise.
 *   overlap  Outputs must not overlap inputs or each other unless the text says so.
 *   status   SOA_E_ARGUMENT: a pointer is missing, a number is out of range, or the work space
 *            belongs to another model.  SOA_E_NOT_FINITE.  SOA_E_QUATERNION: the square of its
 *            length differs from 1 by more than 1e-6 (float: 1e-5).  Functions that apply M^-1
 *            (soa_minv*, soa_aba*, compliance, operational space): also SOA_E_HINGE_SINGULAR; each
 *            mimic joint costs them O(n) more.
 * Matrices are dense and stored row by row.  n is the number of bodies, d the depth of the tree. */
#ifndef SOA_DYNAMICS_H
#define SOA_DYNAMICS_H

#include "soa/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soa_work soa_work;

/* The work space of a model.  Either soa_work_size gives the size and soa_work_init uses memory of
 * the caller (aligned to 64 bytes), or soa_work_create takes it from the heap.  SOA_E_MEMORY: the
 * memory is too small or not aligned, or the heap has none. */
SOA_API size_t soa_work_size(const soa_model *model);
SOA_API soa_status soa_work_init(const soa_model *model, void *memory, size_t size,
                                 soa_work **work);
SOA_API soa_status soa_work_create(const soa_model *model, soa_work **work);
SOA_API void soa_work_free(soa_work *work); /* only for soa_work_create */
/* The body at fault in the last failed call, or -1.  After SOA_E_ARGUMENT it may be that of an
 * earlier call. */
SOA_API int soa_work_failed_body(const soa_work *work);
/* The instruction set that the functions use: "portable" or "avx2". */
SOA_API const char *soa_instruction_set(void);

typedef enum soa_axes { SOA_AXES_WORLD, SOA_AXES_BODY } soa_axes;

/* An external wrench [n; f] on the body that carries `frame`, at the origin of that frame.  With
 * world axes the six numbers stay fixed in the world when q varies (derivatives take this into
 * account); with body axes they are fixed in the axes of the frame. */
typedef struct soa_wrench {
    int frame;
    soa_axes axes;
    double value[6];
} soa_wrench;

/* The state of a machine and what acts on it, for functions that need several of these.  Each
 * function says which fields it reads; it ignores the others.  A struct of zeros is the default:
 * the neutral q, everything else zero, no wrenches.
 *     soa_aba_derivatives(model, work, &(soa_input){.q = q, .v = v, .tau = tau}, dqdd_dq, dqdd_dv);
 * The arrays belong to the caller.  A missing struct (NULL) is SOA_E_ARGUMENT. */
typedef struct soa_input {
    const double *q;            /* nq positions; NULL: neutral                              */
    const double *v;            /* nv velocities; NULL: zero                                */
    const double *a;            /* nv accelerations, for inverse dynamics; NULL: zero       */
    const double *tau;          /* nv torques and forces, for forward dynamics; NULL: zero  */
    const soa_wrench *wrenches; /* external wrenches; NULL with a count of 0: none          */
    int wrench_count;
    double t; /* s, the time at which drives of constraints are evaluated; default 0 */
} soa_input;

/* --- kinematics ------------------------------------------------------------------------------- */
/* Computes poses, velocities and accelerations of all bodies and keeps them in the work space, for
 * the readers below.  They are valid until the next call in double precision that takes a q and
 * accepts it; after that the readers return SOA_E_ORDER.  v and a may be NULL.  O(n). */
SOA_API soa_status soa_kinematics(const soa_model *model, soa_work *work, const double *q,
                                  const double *v, const double *a);
/* The readers, from here to soa_jacobian_dot_v.  Frames are 0 (the world) to soa_model_frame_count
 * - 1.  SOA_E_ARGUMENT: there is no such frame.  SOA_E_ORDER: there are no kinematics in the work
 * space.
 * Pose of a frame in the world. */
SOA_API soa_status soa_pose(const soa_model *model, const soa_work *work, int frame,
                            soa_frame *pose);
/* [w; v] of the frame at its origin, in world axes or in its own axes. */
SOA_API soa_status soa_velocity(const soa_model *model, const soa_work *work, int frame,
                                soa_axes axes, double V[6]);
/* The spatial acceleration (rate of V in body axes; that of FO00 and R87), or the classical one,
 * which an accelerometer measures apart from gravity: classical = spatial + [0; w x v].  Both are
 * without gravity. */
SOA_API soa_status soa_acceleration_spatial(const soa_model *model, const soa_work *work, int frame,
                                            soa_axes axes, double A[6]);
SOA_API soa_status soa_acceleration_classical(const soa_model *model, const soa_work *work,
                                              int frame, soa_axes axes, double A[6]);
/* J (6 x nv), J v, J' f and (dJ/dt) v at the origin of the frame, in the chosen axes, angular rows
 * first.  They read the kinematics in the work space.  soa_jacobian_dot_v is the classical
 * acceleration for a = 0.  O(d) each; J is formed by soa_jacobian only. */
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
/* C v + g + friction + spring: soa_rnea with a = 0.  O(n). */
SOA_API soa_status soa_bias_torque(const soa_model *model, soa_work *work, const double *q,
                                   const double *v, double *tau);
/* The torque of gravity alone, without springs.  O(n). */
SOA_API soa_status soa_gravity_torque(const soa_model *model, soa_work *work, const double *q,
                                      double *tau);
/* C(q,v) w, where v and w may differ; dM/dt - 2 C is skew for this C.  w NULL: zero.  out may be v
 * or w.  O(n). */
SOA_API soa_status soa_coriolis_mul(const soa_model *model, soa_work *work, const double *q,
                                    const double *v, const double *w, double *out);
/* Spatial force [n; f] that the parent exerts through the joint of `body` (1 to n), at the origin
 * of the body, in body axes, as of the last soa_rnea or soa_bias_torque.  After another call in
 * double precision that takes q: SOA_E_ORDER. */
SOA_API soa_status soa_joint_force(const soa_model *model, const soa_work *work, int body,
                                   double f[6]);

/* --- mass matrix ------------------------------------------------------------------------------ */
/* M (nv x nv, both triangles), with reflected and exact rotors, by composite bodies.  O(n d). */
SOA_API soa_status soa_crba(const soa_model *model, soa_work *work, const double *q, double *M);
/* The same by R87 (32) as printed.  It is slower, and serves as a check of soa_crba.  O(n d). */
SOA_API soa_status soa_mass_r87(const soa_model *model, soa_work *work, const double *q, double *M);
/* y = M x and y = M^-1 x, nv numbers each; neither matrix is formed.  y may be x.  O(n). */
SOA_API soa_status soa_mass_mul(const soa_model *model, soa_work *work, const double *q,
                                const double *x, double *y);
SOA_API soa_status soa_minv_mul(const soa_model *model, soa_work *work, const double *q,
                                const double *x, double *y);
/* M^-1 by R87 (83), extended to trees, in which the branches are coupled too.  O(n^2), the size of
 * the result. */
SOA_API soa_status soa_minv(const soa_model *model, soa_work *work, const double *q, double *Minv);

/* --- forward dynamics ------------------------------------------------------------------------- */
/* qdd = M^-1 (tau - bias + J' wrenches), by the articulated-body algorithm.  O(n). */
SOA_API soa_status soa_aba(const soa_model *model, soa_work *work, const double *q, const double *v,
                           const double *tau, const soa_wrench *wrenches, int wrench_count,
                           double *qdd);

/* --- operational space ------------------------------------------------------------------------ */
/* Compliance Omega = J M^-1 J' (6 count x 6 count) of frames, where J contains the rows of
 * soa_jacobian of each frame: the accelerations of all these frames that wrenches on them cause,
 * with the coupling between branches.  RJK91 (20), from the base to the tips; J, M and inverses are
 * not formed.  O(n) for articulated inertias, then O(d) for one frame; for several frames, one more
 * step for each body on their paths and a 6 x 6 product for each pair.  Exact rotors are included;
 * each mimic joint costs O(n).  count >= 1.  Frames may be repeated; a frame that is fixed to the
 * world has zero rows. */
SOA_API soa_status soa_compliance(const soa_model *model, soa_work *work, const double *q,
                                  const int *frames, int count, soa_axes axes, double *Omega);

/* A frame and which of its six directions are controlled: bit r of `rows` means row r of its
 * Jacobian. */
enum { SOA_ROWS_ALL = 0, SOA_ROWS_ANGULAR = 7, SOA_ROWS_LINEAR = 56 };
typedef struct soa_task {
    int frame;
    soa_axes axes;
    unsigned rows; /* SOA_ROWS_ALL, or bits 0 to 5 */
} soa_task;

/* The results of soa_operational_space; NULL: not wanted.  r is the number of rows of all tasks
 * together, in their order.  Khatib's signs:
 *   F = lambda a + mu + p            the force on the task that gives it the acceleration a
 *   tau = J' F + N' tau0             joint torques that produce F; tau0 is arbitrary and does not
 *                                    move the task
 * a is the classical acceleration of the frames, J vdot + (dJ/dt) v (soa_acceleration_classical,
 * soa_jacobian_dot_v).  mu and p do not contain friction and springs; torques that overcome them
 * are added to tau. */
typedef struct soa_operational {
    double *jacobian; /* r x nv: J */
    double *lambda;   /* r x r: Lambda = (J M^-1 J')^-1 */
    double *mu;       /* r: Lambda (J M^-1 C v - (dJ/dt) v), Coriolis and centrifugal forces */
    double *p;        /* r: Lambda J M^-1 g, gravity */
    double *jbar;     /* nv x r: M^-1 J' Lambda, the dynamically consistent inverse of J */
    double *null;     /* nv x nv: N' = 1 - J' jbar', for torques; its transpose is for motions */
} soa_operational;

/* The inputs of soa_operational_space.  0 is the default of damping. */
typedef struct soa_operational_input {
    const double *q;       /* NULL: neutral */
    const double *v;       /* NULL: zero */
    const soa_task *tasks; /* needed */
    int task_count;        /* 1 or more */
    double damping;        /* > 0: a result near singular tasks too; 0: such tasks are refused */
} soa_operational_input;
/* Bytes of memory (aligned as double) that soa_operational_space needs for `count` tasks, 1 or
 * more; 0: no such size.  The memory keeps nothing between calls. */
SOA_API size_t soa_operational_space_size(const soa_model *model, int count);
/* All results in one call.  O(n) for Lambda, mu and p; O(n) per row for J and jbar, which is the
 * size of the result; O(nv^2 r) for null.  M and its inverse are not formed.  SOA_E_MEMORY:
 * `memory` is too small or misaligned.
 * rcond (may be NULL): reciprocal condition number of Omega in the 1-norm.  Omega is scaled so that
 * the mean of its diagonal is 1, for angular and linear rows separately; so the unit of length does
 * not matter.  Rows in which the frames hardly move make rcond small too.  Below 1e-12 the task
 * counts as singular: SOA_E_SINGULAR, and only rcond is written.  With damping > 0 there is a
 * result nevertheless: Lambda is the inverse of Omega with damping added to its scaled diagonal,
 * and all results follow from this Lambda. */
SOA_API soa_status soa_operational_space(const soa_model *model, soa_work *work,
                                         const soa_operational_input *input, void *memory,
                                         size_t size, const soa_operational *out, double *rcond);

/* --- energy, momentum, identification --------------------------------------------------------- */
/* Energies of the moving bodies.  The potential is that of gravity, zero at the origin of the
 * world, plus springs.  Either result may be NULL.  All functions of this part are O(n), except
 * soa_regressor and soa_model_inertial_parameters. */
SOA_API soa_status soa_energy(const soa_model *model, soa_work *work, const double *q,
                              const double *v, double *kinetic, double *potential);
/* Centre of mass of the moving bodies and its velocity, world axes; either may be NULL.  Zero if
 * nothing has mass. */
SOA_API soa_status soa_centre_of_mass(const soa_model *model, soa_work *work, const double *q,
                                      const double *v, double com[3], double velocity[3]);
/* Momentum [angular; linear] about the centre of mass, world axes, with exact rotors.  com may be
 * NULL. */
SOA_API soa_status soa_momentum(const soa_model *model, soa_work *work, const double *q,
                                const double *v, double h[6], double com[3]);
/* A (6 x nv) with h = A v. */
SOA_API soa_status soa_centroidal_momentum_matrix(const soa_model *model, soa_work *work,
                                                  const double *q, double *A);
/* Y (nv x 10 n) with M a + C v + g = Y pi, without rotors, friction and springs.  pi has ten
 * numbers per body: m, m c (3), and the inertia about the origin of the body, xx yy zz xy xz yz.
 * O(n d) and the size of Y. */
SOA_API soa_status soa_regressor(const soa_model *model, soa_work *work, const double *q,
                                 const double *v, const double *a, double *Y);
/* pi of the model, 10 n numbers. */
SOA_API soa_status soa_model_inertial_parameters(const soa_model *model, double *pi);

/* --- derivatives (nv x nv each, row i: output, column j: input; q in the tangent space) ------- */
/* They read q, v, wrenches, and a (rnea) or tau (aba).  Each output may be NULL.  The jump of
 * Coulomb friction at v = 0 is left out.  At most 64 wrenches in world axes (SOA_E_ARGUMENT).
 * soa_rnea_derivatives: O(n d) and the size of the result. */
SOA_API soa_status soa_rnea_derivatives(const soa_model *model, soa_work *work,
                                        const soa_input *input, double *dtau_dq, double *dtau_dv);
/* d qdd / d tau is M^-1 (soa_minv).  O(n^2). */
SOA_API soa_status soa_aba_derivatives(const soa_model *model, soa_work *work,
                                       const soa_input *input, double *dqdd_dq, double *dqdd_dv);

/* --- batches: many states of one model -------------------------------------------------------- */
/* Work space of a batch, one per thread.  4 states (double) or 8 (float) run at a time in SIMD
 * lanes.  The bits of the result of a state do not depend on the number of states or on where the
 * range starts.  Memory as for a soa_work: aligned to 64 bytes, else SOA_E_MEMORY. */
typedef struct soa_batch soa_batch;
SOA_API size_t soa_batch_size(const soa_model *model);
SOA_API soa_status soa_batch_init(const soa_model *model, void *memory, size_t size,
                                  soa_batch **batch);
SOA_API soa_status soa_batch_create(const soa_model *model, soa_batch **batch);
SOA_API void soa_batch_free(soa_batch *batch); /* only for soa_batch_create */
/* The state at fault in the last failed call, and the body at fault; -1: none. */
SOA_API long soa_batch_failed_state(const soa_batch *batch);
SOA_API int soa_batch_failed_body(const soa_batch *batch);
/* Arrays hold one state after the other: q count x nq, the others count x nv, M count x nv x nv.
 * fext is count x n x 6 (body axes, at the origin of the body), or NULL.  v, a, tau may be NULL, q
 * may not.  After a failure, results of the lanes before the failing group are written, later ones
 * are not. */
SOA_API soa_status soa_aba_batch(const soa_model *model, soa_batch *batch, long count,
                                 const double *q, const double *v, const double *tau,
                                 const double *fext, double *qdd);
SOA_API soa_status soa_rnea_batch(const soa_model *model, soa_batch *batch, long count,
                                  const double *q, const double *v, const double *a,
                                  const double *fext, double *tau);
SOA_API soa_status soa_crba_batch(const soa_model *model, soa_batch *batch, long count,
                                  const double *q, double *M);

/* --- single precision ------------------------------------------------------------------------- */
/* The same with float numbers and the parameters of the model rounded to float.  Over 1,000 random
 * trees of up to 30 links, tau and M differ from double by at most 4e-6 of their largest number.
 * qdd is as accurate as the condition of M allows: the torques that it needs differ by at most 2e-4
 * of the largest of M qdd. */
SOA_API soa_status soa_aba_batch_f(const soa_model *model, soa_batch *batch, long count,
                                   const float *q, const float *v, const float *tau,
                                   const float *fext, float *qdd);
SOA_API soa_status soa_rnea_batch_f(const soa_model *model, soa_batch *batch, long count,
                                    const float *q, const float *v, const float *a,
                                    const float *fext, float *tau);
SOA_API soa_status soa_crba_batch_f(const soa_model *model, soa_batch *batch, long count,
                                    const float *q, float *M);
/* One state at a time, in scalar code, for targets without vector units.  fext: n x 6 (body axes,
 * at the origin of the body), or NULL. */
SOA_API soa_status soa_aba_f(const soa_model *model, soa_work *work, const float *q, const float *v,
                             const float *tau, const float *fext, float *qdd);
SOA_API soa_status soa_rnea_f(const soa_model *model, soa_work *work, const float *q,
                              const float *v, const float *a, const float *fext, float *tau);
SOA_API soa_status soa_crba_f(const soa_model *model, soa_work *work, const float *q, float *M);

#ifdef __cplusplus
}
#endif
#endif
