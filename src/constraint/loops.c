/* loops.c  cut joints of a graph: as constraints, and their coordinates where the tree stands.
 *
 * With place 2 at X in place 1, motions V1, V2 and accelerations A1, A2 of the places in their own axes,
 *     V = V2 - phi*(X) V1,    rate of its six numbers  A = A2 - phi*(X) A1 - V2 x V,
 * which soa_joint_coordinates takes apart.                                                                            */
#include "constraint_internal.h"

soa_constraint_def soa_constraint_loop(const soa_loop_def *loop) {
    soa_constraint_def d = soa_constraint_default(SOA_LOOP, loop->link1, loop->link2);
    d.name = loop->name;
    d.place1 = loop->place1, d.place2 = loop->place2;
    d.joint = loop->joint.type;
    memcpy(d.axis, loop->joint.axis, sizeof d.axis);
    memcpy(d.axis2, loop->joint.axis2, sizeof d.axis2);
    d.pitch = loop->joint.pitch, d.damping = loop->joint.damping, d.friction = loop->joint.friction_positive;
    if (d.joint == SOA_SPHERICAL && d.friction != 0) {
        d.frame1 = loop->link2, d.frame2 = loop->link1;
        d.place1 = loop->place2, d.place2 = loop->place1;
    }
    return d;
}

/* Pose, motion and acceleration of a place, in its own axes. */
static soa_status motion_of(const soa_model *m, const soa_work *w, int frame, const soa_frame *in, soa_frame *X,
                            double V[6], double A[6]) {
    soa_frame at;
    soa_status s = soa_pose(m, w, frame, &at);
    if (s || (s = soa_velocity(m, w, frame, SOA_AXES_BODY, V)) ||
        (s = soa_acceleration_spatial(m, w, frame, SOA_AXES_BODY, A)))
        return s;
    *X = soa_frame_compose(&at, in);
    soa_motion_to_child(in, V, V);
    soa_motion_to_child(in, A, A);
    return SOA_OK;
}

soa_status soa_loop_coordinates(const soa_model *model, soa_work *work, const soa_loop_def *loop, double *q, double *v,
                                double *a) {
    if (!model || !work || !loop || !q || (a && !v)) return SOA_E_ARGUMENT;
    soa_frame one, two;
    double V1[6], V2[6], A1[6], A2[6], turn[6];
    soa_status s = motion_of(model, work, loop->link1, &loop->place1, &one, V1, A1);
    if (s || (s = motion_of(model, work, loop->link2, &loop->place2, &two, V2, A2))) return s;
    const soa_frame back = soa_frame_inverse(&one), X = soa_frame_compose(&back, &two);
    soa_motion_to_child(&X, V1, V1);
    soa_motion_to_child(&X, A1, A1);
    for (int i = 0; i < 6; ++i) V1[i] = V2[i] - V1[i];
    soa_cross_motion(V2, V1, turn);
    for (int i = 0; i < 6; ++i) A1[i] = A2[i] - A1[i] - turn[i];
    return soa_joint_coordinates(&loop->joint, &X, v ? V1 : NULL, a ? A1 : NULL, q, v, a);
}
