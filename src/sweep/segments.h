/* segments.h  the assembly tree of a machine and what each of its segments holds (segment_sweeps.h
 *             says what it means). */
#ifndef SOAI_SEGMENTS_H
#define SOAI_SEGMENTS_H

enum { SEGMENT_RUN, SEGMENT_JOIN, SEGMENT_SIDE };
enum { SEGMENT_POSE, SEGMENT_VELOCITY, SEGMENT_ARTICULATE, SEGMENT_ACCELERATE, SEGMENT_SWEEPS };

typedef struct soai_segment {
    double P[24], Omega[24]; /* symmetric, as articulated inertias are stored */
    double Psi[36];          /* by columns */
    double z[6], lambda[6];
    double R[9], p[3], v[6];         /* pose of the outer handle in the inner one; its velocity,
                                      * inner one at rest */
    double N[36], U[36];             /* joins: `rank` columns of 6 */
    double V[6], A[6], F[6], out[6]; /* what comes from outside */
    int kind;
    int a, b;         /* JOIN: inner and outer part; SIDE: both parts                        */
    int first, count; /* RUN: its bodies, order[first ...]                                   */
    int open;         /* something follows the outer handle                                 */
    int rank, bad;
    int level, dof;
} soai_segment;

typedef struct soai_segments {
    soai_segment *segment; /* sorted by level                                   */
    int *order;            /* bodies, path by path                              */
    int *rake;             /* per body: the segment of all that hangs beside the path, or -1 */
    double *rows;          /* 6 per degree of freedom: H Psi                    */
} soai_segments;

#endif
