/* floating_arms.h  a free base with two arms of revolute joints, and a separate object, without
 * gravity. */
#ifndef SOA_TESTS_FLOATING_ARMS_H
#define SOA_TESTS_FLOATING_ARMS_H
#include "check.h"
#include "soa/soa.h"

enum { MOST_ARM_JOINTS = 8 };
static inline const soa_model *floating_arms(int joints, double base_mass, double object_mass) {
    static soa_body_def body[2 * MOST_ARM_JOINTS + 2];
    static char names[2 * MOST_ARM_JOINTS + 2][24];
    int n = 0;
    assert_true(joints <= MOST_ARM_JOINTS);
    body[n] = soa_body_default("base", 0, SOA_FREE);
    soa_body_box(&body[n++], base_mass, 0.8, 1, 0.6);
    for (int arm = 0; arm < 2; ++arm)
        for (int i = 0; i < joints; ++i, ++n) {
            snprintf(names[n], sizeof names[n], "%s%d", arm ? "right" : "left", i + 1);
            body[n] = soa_body_default(names[n], i ? n : 1, SOA_REVOLUTE);
            if (i) {
                body[n].placement = soa_frame_from_rpy(0.2, -0.1, 0.3, 0.3, 0, 0.02);
            } else {
                body[n].placement =
                    soa_frame_from_rpy(0, 0, arm ? -0.3 : 0.3, 0.5, arm ? -0.4 : 0.4, 0);
            }
            soa_body_box(&body[n], 3, 0.3, 0.06, 0.05);
            body[n].com[0] = 0.15;
            const double axis[3] = {i % 3 == 2, i % 3 == 1, i % 3 == 0};
            memcpy(body[n].joint.axis, axis, sizeof axis);
        }
    body[n] = soa_body_default("object", 0, SOA_FREE);
    soa_body_box(&body[n++], object_mass, 0.3, 0.8, 0.2);
    soa_model_def def = soa_model_default("two arms and an object", body, n);
    def.gravity[2] = 0;
    const soa_model *m = NULL;
    soa_report report;
    if (soa_model_create(&def, &m, &report)) fail_msg("%s", report.text);
    return m;
}

#endif
