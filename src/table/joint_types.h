/* joint_types.h  soa_joint_type under names that need no public header (generated files have
 *                none). */
#ifndef SOAI_JOINT_TYPES_H
#define SOAI_JOINT_TYPES_H
enum {
    SOAI_JOINT_FIXED,
    SOAI_JOINT_REVOLUTE,
    SOAI_JOINT_PRISMATIC,
    SOAI_JOINT_HELICAL,
    SOAI_JOINT_CYLINDRICAL,
    SOAI_JOINT_UNIVERSAL,
    SOAI_JOINT_PLANAR,
    SOAI_JOINT_SPHERICAL,
    SOAI_JOINT_FREE
};
#endif
