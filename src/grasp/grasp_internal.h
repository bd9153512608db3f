/* grasp_internal.h  what the files about grasps share. */
#ifndef SOAI_GRASP_INTERNAL_H
#define SOAI_GRASP_INTERNAL_H
#include "../constraint/constraint_internal.h"
#include "../constraint/least_norm.h"
#include "soa/grasp.h"

typedef struct contact {
    soa_contact_def def;
    int used, on;
    int free, held;          /* free directions and those that bear; together 6 */
    double H[6][6], T[6][6]; /* rows: free directions, force directions; contact axes */
    int body[2], frame[2];   /* of the arm, of the object; the bodies' own frames */
    /* at the state last evaluated */
    place end[2];    /* of the arm, of the object */
    double p[3];     /* contact point, world axes */
    double R[9];     /* contact axes to world axes */
    soa_frame at[2]; /* contact axes at the contact point, seen from the two bodies */
    double V[6];     /* of the object less that of the arm, at the contact point, contact axes */
} contact;

/* The O(contacts) form of the forces: grasp_woodbury.c. */
enum { MOST_SHARED = 12 };
typedef struct woodbury {
    int shared;     /* columns of K: object's and base's                                       */
    double *Lambda; /* 6 x 6 per contact: compliance of the arm alone                           */
    double *Pi;     /* 6 x 6 per contact: T (T'Lambda T)^-1 T'                                  */
    double *K;      /* 6 x shared per contact: Omega = diag(Lambda) + K K'                      */
    double core[MOST_SHARED * MOST_SHARED]; /* I + K'Pi K, inverted */
} woodbury;

struct soa_grasp {
    const soa_model *model;
    int capacity;
    contact *list;
    int count, rows, free; /* contacts that are on, their force directions and free directions */
    int *on;               /* their numbers */
    int *frame;            /* 2 per contact: arms' bodies, then object's */
    int *visits;           /* nb + 1: grasp_woodbury.c */
    soai_least least;
    woodbury sum;
    double *compliance, *Omega, *S; /* (12 l)^2, (6 l)^2, rows^2 at most (6 l)^2               */
    double *rate, *drift, *size, *force, *more, *y, *part,
        *floor;                              /* 6 l each                                         */
    double *torque, *bias, *qdd, *a, *b, *e; /* nv each */
};

/* Contacts at (q, v) and, in out (6 per contact, contact axes), the rates of their V for joint a: J
 * vdot + bias.  v, a NULL: zero.  size (may be NULL): the magnitudes that were subtracted.
 * Kinematics are left in w. */
soa_status soai_grasp_evaluate(soa_grasp *g, soa_work *w, const double *q, const double *v,
                               const double *a, double *out, double *size);
/* Omega in contact axes, with contacts evaluated; articulated inertias stand afterwards. */
soa_status soai_grasp_compliance(soa_grasp *g, soa_work *w, const double *q);
/* How much of the diagonal of T'X T, X (6 x 6, rows `width` apart) a compliance at the contact, may
 * be rounding: `held` numbers.  Needs the poses in w. */
void soai_grasp_floor(const contact *k, const soa_work *w, const double *X, size_t width,
                      double *floor);
/* T'x and T y, for all contacts. */
void soai_grasp_borne(const soa_grasp *g, const double *x, double *y);
void soai_grasp_forces(const soa_grasp *g, const double *y, double *f);
/* Contact axes to world axes and back, 6 numbers per contact; out may be in. */
void soai_grasp_to_world(const soa_grasp *g, const double *in, double *out);
void soai_grasp_from_world(const soa_grasp *g, const double *in, double *out);

/* Forces that the arms put on bodies, as z of the filter: z = B f; accelerations of the sweep read
 * at the contacts. */
void soai_grasp_load(const soa_grasp *g, soa_work *w, const double *f);
void soai_grasp_read(const soa_grasp *g, const soa_work *w, double *out, double *size);
/* tau += J'f in the caller's coordinates, kinematics standing; room: nv. */
void soai_grasp_torques(const soa_grasp *g, soa_work *w, const double *f, double *room,
                        double *tau);

/* The O(contacts) form: prepared with articulated inertias standing, then T'(Omega f + right) = 0;
 * 0 where it fails. */
soa_status soai_woodbury_prepare(soa_grasp *g, soa_work *w, double tolerance, double *condition);
int soai_woodbury_solve(const soa_grasp *g, const double *right, double *f);

#endif
